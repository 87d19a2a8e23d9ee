import { setMaxListeners } from 'node:events';
import { describeError, errorType } from './errors.js';
import type { LogFields, PaymentLogger } from './payment-logger.js';

/** Work that is claimed from a table under a lease, then done item by item. */
export interface LeasedWork<T> {
  /** Leases at most `limit` items to this instance and commits, before any of them starts. */
  claim(limit: number): Promise<T[]>;
  /** Does one item. Records its own failures; what it throws is unexpected. */
  process(item: T, stopping: AbortSignal): Promise<void>;
  /**
   * After a claim that found less than it asked for: in how many milliseconds there may be more, if that is known. An
   * upper bound is `pollMs`, since others make work, too.
   */
  rest?(): number | null;
  /** What a log line about the item says it is about. */
  fieldsOf(item: T): LogFields;
}

/** Whether a worker runs by itself; one that is driven by hand was never started. */
export type WorkerState = 'running' | 'stalled' | 'stopped' | 'not-started';

export interface LeasedWorkerOptions {
  /** How many items run at once; never more are claimed, so that no lease runs while its item waits. */
  concurrency: number;
  /** How long to wait, in milliseconds, before looking again when there was nothing to do. */
  pollMs: number;
}

/** Whatever the work says: between two looks without a signal the database has a moment. */
const LEAST_REST_MS = 10;

/** While most places are taken, one that becomes free waits so long for others, so that one claim fills them all. */
const GATHER_MS = 5;

/** Runs leased work: either by hand (`runOnce()`), or by itself from `start()` to `stop()`. */
export class LeasedWorker<T> {
  private readonly inFlight = new Set<Promise<unknown>>();
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;
  private lastLookAt = 0;
  private signalled = false;
  private gathering: NodeJS.Timeout | undefined;
  private signal: (() => void) | undefined;

  constructor(
    private readonly work: LeasedWork<T>,
    private readonly options: LeasedWorkerOptions,
    private readonly logger: Pick<PaymentLogger, 'error'>,
  ) {
    // Every running item listens to it.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Claims one batch and does it. Resolves with the number of items when all have ended. */
  runOnce(): Promise<number> {
    return this.track(this.round());
  }

  start(): void {
    this.lastLookAt = performance.now();
    this.loop ??= this.run();
  }

  /** `stalled` where a loop that should look every `pollMs` has not come round for `silenceMs`, as when a query hangs. */
  state(silenceMs: number): WorkerState {
    if (!this.loop) return 'not-started';
    if (this.stopping.signal.aborted) return 'stopped';
    return performance.now() - this.lastLookAt > silenceMs + this.options.pollMs ? 'stalled' : 'running';
  }

  /** Looks for work now instead of at the next poll. */
  wake(): void {
    clearTimeout(this.gathering);
    this.gathering = undefined;
    this.signalled = true;
    this.signal?.();
  }

  /** Claims nothing more, tells running items to stop, and resolves when they have ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.wake();
    await this.loop;
    await Promise.allSettled(this.inFlight);
  }

  private async round(): Promise<number> {
    const items = await this.work.claim(this.options.concurrency);
    const ends = await Promise.allSettled(items.map((item) => this.work.process(item, this.stopping.signal)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
    return items.length;
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      this.signalled = false;
      this.lastLookAt = performance.now();
      const free = this.options.concurrency - this.inFlight.size;
      const claimed = free > 0 ? await this.claim(free) : undefined;
      if (claimed === free) continue;
      // What the work says of its rest is of the claim before, where there was none, or one that failed.
      await this.pause(claimed === undefined ? null : this.work.rest?.());
    }
  }

  /** How many items were claimed; `undefined` where the claim failed. */
  private async claim(limit: number): Promise<number | undefined> {
    try {
      const items = await this.work.claim(limit);
      for (const item of items) this.begin(item);
      return items.length;
    } catch (error) {
      this.logger.error(`Could not look for work; trying again in ${this.options.pollMs} ms. ${describeError(error)}`);
      return undefined;
    }
  }

  private begin(item: T): void {
    const running = this.work.process(item, this.stopping.signal).catch((error: unknown) => {
      const fields = { ...this.work.fieldsOf(item), error: errorType(error) };
      this.logger.error(`An item failed unexpectedly; its lease will run out. ${describeError(error)}`, fields);
    });
    void this.track(running).then(() => {
      if (2 * this.inFlight.size <= this.options.concurrency) this.wake();
      else this.gathering ??= setTimeout(() => this.wake(), GATHER_MS);
    });
  }

  /** What `stop()` waits for. */
  private track<R>(running: Promise<R>): Promise<R> {
    const tracked = running.finally(() => {
      this.inFlight.delete(tracked);
    });
    this.inFlight.add(tracked);
    return tracked;
  }

  private async pause(knownMs: number | null | undefined): Promise<void> {
    if (this.signalled) return;
    const restMs = Math.max(LEAST_REST_MS, knownMs ?? Infinity);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(restMs, this.options.pollMs));
      this.signal = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.signal = undefined;
  }
}
