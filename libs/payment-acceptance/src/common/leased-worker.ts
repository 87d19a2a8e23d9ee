import { setMaxListeners } from 'node:events';
import { describeError, errorType } from './errors.js';
import type { LogFields, PaymentLogger } from './payment-logger.js';
import { TimeoutError, withTimeout } from './timeout.js';
import { InFlight } from './in-flight.js';

/** Work that is claimed from a table under a lease, then processed item by item. */
export interface LeasedWork<T> {
  /** Housekeeping. Called before each claim, whether there are items or not. */
  maintain?(): Promise<void>;
  /** Leases at most `limit` items to this instance, and commits before any of them starts. */
  claim(limit: number): Promise<ClaimResult<T>>;
  /** Records expected failures itself. Resolves with whether work may be due, now or later: if so, the worker polls. */
  process(item: T, stopping: AbortSignal): Promise<boolean>;
  fieldsOf(item: T): LogFields;
}

export interface ClaimResult<T> {
  readonly items: readonly T[];
  /**
   * Milliseconds until more items may be due, if known, after a claim smaller than the limit. The worker polls after
   * `pollMs` at the latest, since other instances create work, too.
   */
  readonly nextMs: number | null;
  /** Whether more items may be due now although the claim, which has a limit of its own, was smaller than the limit. */
  readonly mayBeMore?: boolean;
  /** Whether items may be due that the claim had no place for: the worker polls again when an item in flight ends. */
  readonly isFull?: boolean;
}

/** State of a worker's own loop; a worker driven by `runOnce` alone is `not-started`. */
export type WorkerState = 'running' | 'stalled' | 'stopped' | 'not-started';

export interface LeasedWorkerOptions {
  /** Maximum items in flight. No more are claimed, so that no lease runs while its item waits. */
  concurrency: number;
  /** Pause between polls when there is nothing to do, in milliseconds. */
  pollMs: number;
  /** How long a poll and items in flight may still run once `stop` was called, in milliseconds. */
  shutdownTimeoutMs: number;
}

/** Shortest pause between two polls without a wake-up, whatever the claim says. */
const MIN_PAUSE_MS = 10;

/** Shortest pause between two polls while work is in flight, so that under load one claim serves several wake-ups. */
const BATCHING_DELAY_MS = 5;

/** Timeout of a poll, which may never end on a dead connection; the next poll then starts beside it. */
const POLL_TIMEOUT_MS = 60_000;

/** How long `stop` waits for items beyond `shutdownTimeoutMs`, so that they can end and record their outcome. */
const END_TIMEOUT_MS = 5_000;

/** Runs leased work: on demand (`runOnce()`), or in a loop from `start()` to `stop()`. */
export class LeasedWorker<T> {
  private readonly inFlight = new InFlight();
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;
  private pollStartedAt = -Infinity;
  /** When a poll last succeeded. */
  private pollEndedAt = 0;
  private isOneOverdue = false;
  /** Whether the last poll may have left due items, for lack of places or because it failed. */
  private isFull = false;
  private ends = 0;
  private signalled = false;
  private wakeTimer: NodeJS.Timeout | undefined;
  private signal: (() => void) | undefined;

  constructor(
    private readonly work: LeasedWork<T>,
    private readonly options: LeasedWorkerOptions,
    private readonly logger: Pick<PaymentLogger, 'write'>,
  ) {
    // Every item in flight listens to this signal.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Claims and processes one batch, unless stopped. Resolves with the number of items once all have ended. */
  runOnce(): Promise<number> {
    return this.inFlight.track(this.runRound());
  }

  start(): void {
    this.pollEndedAt = performance.now();
    this.loop ??= this.run();
  }

  get isStopped(): boolean {
    return this.stopping.signal.aborted;
  }

  /** `stalled` if no poll has succeeded for `silenceMs` beyond `pollMs`, as when a query hangs. */
  state(silenceMs: number): WorkerState {
    if (!this.loop) return 'not-started';
    if (this.isStopped) return 'stopped';
    return performance.now() - this.pollEndedAt > silenceMs + this.options.pollMs ? 'stalled' : 'running';
  }

  /** Polls now rather than after the pause; a moment later if a poll has just started and work is in flight. */
  wake(): void {
    const sinceMs = performance.now() - this.pollStartedAt;
    if (sinceMs >= BATCHING_DELAY_MS || this.inFlight.size === 0) this.pollNow();
    else this.wakeTimer ??= setTimeout(() => this.pollNow(), BATCHING_DELAY_MS - sinceMs);
  }

  private pollNow(): void {
    clearTimeout(this.wakeTimer);
    this.wakeTimer = undefined;
    this.signalled = true;
    this.signal?.();
  }

  /**
   * Aborts items in flight, and resolves once they have ended or their time is over: an exhausted pool or a hanging
   * query must not block a shutdown. Items that a late poll still leases are released, or else their leases expire.
   */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.pollNow();
    const { shutdownTimeoutMs } = this.options;
    const limit = performance.now() + shutdownTimeoutMs + END_TIMEOUT_MS;
    await this.waitFor('A poll for work', this.loop ?? Promise.resolve(), shutdownTimeoutMs);
    await this.waitFor('Work in flight', this.inFlight.idle(), limit - performance.now());
  }

  private async waitFor(what: string, end: Promise<void>, timeoutMs: number): Promise<void> {
    try {
      await withTimeout(timeoutMs, end);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      const seconds = Math.ceil(timeoutMs / 1_000);
      this.logger.write(
        'shutdown-incomplete',
        `${what} did not end within ${seconds} s after the worker was stopped, so the shutdown continues without it: the ` +
          'database does not answer, or its pool is exhausted. Other instances take over when the leases expire.',
      );
    }
  }

  private async runRound(): Promise<number> {
    if (this.isStopped) return 0;
    const { items } = await this.claimed(this.options.concurrency);
    const ends = await Promise.allSettled(items.map((item) => this.work.process(item, this.stopping.signal)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
    return items.length;
  }

  private async run(): Promise<void> {
    while (!this.isStopped) {
      this.consumeSignal();
      this.pollStartedAt = performance.now();
      const free = this.options.concurrency - this.inFlight.size;
      const { ends } = this;
      const claimed = free > 0 ? await this.claim(free) : undefined;
      if (free <= 0) this.pollEndedAt = performance.now();
      this.isFull = claimed?.isFull ?? claimed === undefined;
      if (claimed?.mayBeMore || claimed?.items.length === free) this.pollNow();
      // The claim may have lacked a place that became free while it ran.
      else if (this.isFull && this.ends > ends) this.wake();
      // A wake-up during the claim may be about work that the claim missed.
      else if (this.consumeSignal()) this.wake();
      await this.pause(claimed?.nextMs ?? null);
    }
  }

  private consumeSignal(): boolean {
    const { signalled } = this;
    this.signalled = false;
    return signalled;
  }

  private async claimed(limit: number): Promise<ClaimResult<T>> {
    // If housekeeping fails, due items do not wait for it.
    await this.work.maintain?.().catch((error: unknown) => this.pollFailed('Housekeeping has failed.', error));
    return this.work.claim(limit);
  }

  private async claim(limit: number): Promise<ClaimResult<T> | undefined> {
    try {
      const polling = this.claimed(limit).then((claimed) => {
        this.pollEndedAt = performance.now();
        return claimed;
      });
      const claimed = await (this.isOneOverdue ? polling : this.pollWithTimeout(polling));
      for (const item of claimed.items) void this.begin(item);
      return claimed;
    } catch (error) {
      this.pollFailed(`Could not poll for work; retrying in ${this.options.pollMs} ms.`, error);
      return undefined;
    }
  }

  private pollFailed(what: string, error: unknown): void {
    this.logger.write('poll-failed', `${what} ${describeError(error)}`, { error: errorType(error) });
  }

  /**
   * Abandons a poll that does not end, but only one at a time, since several would exhaust the pool. If the poll ends
   * after all, its items are started, since they are leased to this instance.
   */
  private async pollWithTimeout(polling: Promise<ClaimResult<T>>): Promise<ClaimResult<T>> {
    try {
      return await withTimeout(POLL_TIMEOUT_MS, polling);
    } catch (error) {
      if (error instanceof TimeoutError) {
        this.isOneOverdue = true;
        void polling
          .then((late) => late.items.forEach((item) => void this.begin(item)))
          .catch((late: unknown) => this.pollFailed('A poll failed after it had already timed out.', late))
          .finally(() => (this.isOneOverdue = false));
      }
      throw error;
    }
  }

  private begin(item: T): Promise<void> {
    const running = this.work.process(item, this.stopping.signal).catch((error: unknown): boolean => {
      const fields = { ...this.work.fieldsOf(item), error: errorType(error) };
      const line = `An item failed unexpectedly; it will be retried when its lease expires. ${describeError(error)}`;
      this.logger.write('work-failed', line, fields);
      return true;
    });
    return this.inFlight.track(running).then((mayBeMore) => {
      this.ends += 1;
      if (mayBeMore || this.isFull) this.wake();
    });
  }

  private async pause(knownMs: number | null): Promise<void> {
    if (this.signalled) return;
    const pauseMs = Math.max(MIN_PAUSE_MS, knownMs ?? Infinity);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.min(pauseMs, this.options.pollMs));
      this.signal = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.signal = undefined;
  }
}

/** A service that is the work of its own worker. */
export abstract class WorkingService<T> {
  protected abstract readonly worker: LeasedWorker<T>;

  runOnce(): Promise<number> {
    return this.worker.runOnce();
  }

  start(): void {
    this.worker.start();
  }

  state(silenceMs: number): WorkerState {
    return this.worker.state(silenceMs);
  }

  wake(): void {
    this.worker.wake();
  }

  stop(): Promise<void> {
    return this.worker.stop();
  }
}
