import { TimeoutError, withTimeout } from './timeout.js';

/** The item timed out. What is in flight for it may still commit. */
export class GroupCommitTimeoutError extends TimeoutError {
  override readonly name = 'GroupCommitTimeoutError';

  static after(timeoutMs: number): GroupCommitTimeoutError {
    return new GroupCommitTimeoutError(`The database did not answer within ${timeoutMs} ms.`);
  }

  static blocked(): GroupCommitTimeoutError {
    return new GroupCommitTimeoutError(
      'The database has not answered earlier statements, so no further ones are sent.',
    );
  }
}

/**
 * How much work that timed out may still be in flight. Each piece holds a resource such as a connection, so beyond that
 * nothing new may start.
 */
const MAX_OVERDUE = 1;

/** Work under a time limit. Work that exceeds it is not awaited any longer, but counted until it ends. */
export class TimeLimitedWork {
  private overdue = 0;

  constructor(private readonly timeoutMs: number) {}

  /** Whether too much work has timed out and is still in flight. */
  get isBlocked(): boolean {
    return this.overdue > MAX_OVERDUE;
  }

  /** @throws GroupCommitTimeoutError after the limit, or what the work throws */
  async run<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await withTimeout(this.timeoutMs, work);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      this.overdue += 1;
      const ended = (): void => void (this.overdue -= 1);
      void work.then(ended, ended);
      throw GroupCommitTimeoutError.after(this.timeoutMs);
    }
  }
}
