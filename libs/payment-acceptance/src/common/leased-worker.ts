import { setMaxListeners } from 'node:events';
import { describeError, errorType } from './errors.js';
import type { LogFields, PaymentLogger } from './payment-logger.js';
import { TimeoutError, withTimeout } from './timeout.js';
import { InFlight } from './in-flight.js';

/** Work that is claimed from a table under a lease, then done item by item. */
export interface LeasedWork<T> {
  /** Called before each claim: what has to be done from time to time, whether there are items or not. */
  maintain?(): Promise<void>;
  /** Leases at most `limit` items to this instance and commits, before any of them starts. */
  claim(limit: number): Promise<Claimed<T>>;
  /** Does one item. Records its own failures; what it throws is unexpected. */
  process(item: T, stopping: AbortSignal): Promise<void>;
  /** What a log line about the item says it is about. */
  fieldsOf(item: T): LogFields;
}

export interface Claimed<T> {
  readonly items: readonly T[];
  /**
   * Where there were less than asked for: in how many milliseconds there may be more, if that is known. An upper bound is
   * `pollMs`, since others make work, too.
   */
  readonly nextMs: number | null;
  /** Whether there may be more now, though the claim was smaller than it might have been. */
  readonly mayBeMore?: boolean;
}

/** Whether a worker runs by itself; one that is driven by hand was never started. */
export type WorkerState = 'running' | 'stalled' | 'stopped' | 'not-started';

export interface LeasedWorkerOptions {
  /** How many items run at once; never more are claimed, so that no lease runs while its item waits. */
  concurrency: number;
  /** How long to wait, in milliseconds, before looking again when there was nothing to do. */
  pollMs: number;
  /** How long stopping waits for a look that is under way, and for how long items may go on then, in milliseconds. */
  shutdownMs: number;
}

/** Whatever the claim says: between two looks without a signal the database has a moment. */
const MIN_PAUSE_MS = 10;

/** Looks follow one another no faster than this, so that under load one claim takes what several signals told of. */
const GATHER_MS = 5;

/** A look that has taken so long may never end, as on a connection whose other side is gone: the next one goes out beside it. */
const LOOK_MS = 60_000;

/** How much longer than they may go on stopping waits for items: time to end, and to record how. */
const ENDING_MS = 5_000;

/** Runs leased work: either by hand (`runOnce()`), or by itself from `start()` to `stop()`. */
export class LeasedWorker<T> {
  private readonly inFlight = new InFlight();
  private readonly stopping = new AbortController();
  private loop: Promise<void> | undefined;
  /** When a look has begun last. */
  private lookedAt = -Infinity;
  /** When a look has ended last. */
  private lastLookAt = 0;
  private isOneOverdue = false;
  private signalled = false;
  private wakeTimer: NodeJS.Timeout | undefined;
  private signal: (() => void) | undefined;

  constructor(
    private readonly work: LeasedWork<T>,
    private readonly options: LeasedWorkerOptions,
    private readonly logger: Pick<PaymentLogger, 'error'>,
  ) {
    // Every running item listens to it.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Claims one batch and does it, unless stopped. Resolves with the number of items when all have ended. */
  runOnce(): Promise<number> {
    return this.inFlight.track(this.round());
  }

  start(): void {
    this.lastLookAt = performance.now();
    this.loop ??= this.run();
  }

  /** `stalled` where a loop that should look every `pollMs` has ended no look for `silenceMs`, as when a query hangs. */
  state(silenceMs: number): WorkerState {
    if (!this.loop) return 'not-started';
    if (this.stopping.signal.aborted) return 'stopped';
    return performance.now() - this.lastLookAt > silenceMs + this.options.pollMs ? 'stalled' : 'running';
  }

  /** Looks for work now instead of at the next poll, or a moment later where it has just looked and something is under way. */
  wake(): void {
    const sinceMs = performance.now() - this.lookedAt;
    if (sinceMs >= GATHER_MS || this.inFlight.size === 0) this.lookNow();
    else this.wakeTimer ??= setTimeout(() => this.lookNow(), GATHER_MS - sinceMs);
  }

  private lookNow(): void {
    clearTimeout(this.wakeTimer);
    this.wakeTimer = undefined;
    this.signalled = true;
    this.signal?.();
  }

  /**
   * Claims nothing more, tells running items to stop, and resolves when they have ended, or their time is over: a pool that
   * is exhausted, or a query that hangs, must not hold up a shutdown. What a look leases after all is given back; where even
   * that fails, its lease runs out.
   */
  async stop(): Promise<void> {
    this.stopping.abort();
    this.lookNow();
    const { shutdownMs } = this.options;
    const limit = performance.now() + shutdownMs + ENDING_MS;
    await this.waitFor('A look for work', this.loop ?? Promise.resolve(), shutdownMs);
    await this.waitFor('What was begun', this.inFlight.idle(), limit - performance.now());
  }

  private async waitFor(what: string, end: Promise<void>, limitMs: number): Promise<void> {
    try {
      await withTimeout(limitMs, end);
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      const seconds = Math.ceil(limitMs / 1_000);
      this.logger.error(
        `${what} has not ended ${seconds} s after the worker was stopped, and is waited for no longer: the database does not ` +
          'answer, or its pool has no connection to give. Other instances go on when the leases have run out.',
      );
    }
  }

  private async round(): Promise<number> {
    if (this.stopping.signal.aborted) return 0;
    const { items } = await this.claimed(this.options.concurrency);
    const ends = await Promise.allSettled(items.map((item) => this.work.process(item, this.stopping.signal)));
    const failed = ends.find((end) => end.status === 'rejected');
    if (failed) throw failed.reason;
    return items.length;
  }

  private async run(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      this.takeSignal();
      this.lookedAt = performance.now();
      const free = this.options.concurrency - this.inFlight.size;
      const claimed = free > 0 ? await this.claim(free) : undefined;
      if (free <= 0) this.lastLookAt = performance.now();
      if (claimed?.mayBeMore || claimed?.items.length === free) this.lookNow();
      // One that came meanwhile knew nothing of the slots that are taken now.
      else if (this.takeSignal()) this.wake();
      await this.pause(claimed?.nextMs ?? null);
    }
  }

  private takeSignal(): boolean {
    const { signalled } = this;
    this.signalled = false;
    return signalled;
  }

  private async claimed(limit: number): Promise<Claimed<T>> {
    await this.work.maintain?.();
    return this.work.claim(limit);
  }

  /** Claims items and begins them; `undefined` where the claim failed. */
  private async claim(limit: number): Promise<Claimed<T> | undefined> {
    try {
      const looking = this.claimed(limit).finally(() => (this.lastLookAt = performance.now()));
      const claimed = await (this.isOneOverdue ? looking : this.inTime(looking));
      for (const item of claimed.items) this.begin(item);
      return claimed;
    } catch (error) {
      this.logger.error(`Could not look for work; trying again in ${this.options.pollMs} ms. ${describeError(error)}`);
      return undefined;
    }
  }

  /**
   * Leaves a look behind that does not end: one at a time, or they would take all connections of a pool. Should it end after
   * all, its items are leased to nobody else.
   */
  private async inTime(looking: Promise<Claimed<T>>): Promise<Claimed<T>> {
    try {
      return await withTimeout(LOOK_MS, looking);
    } catch (error) {
      if (error instanceof TimeoutError) {
        this.isOneOverdue = true;
        void looking
          .then((late) => late.items.forEach((item) => this.begin(item)))
          .catch((end: unknown) =>
            this.logger.error(`A look that had taken too long has failed. ${describeError(end)}`),
          )
          .finally(() => (this.isOneOverdue = false));
      }
      throw error;
    }
  }

  private begin(item: T): void {
    const running = this.work.process(item, this.stopping.signal).catch((error: unknown) => {
      const fields = { ...this.work.fieldsOf(item), error: errorType(error) };
      this.logger.error(`An item failed unexpectedly; its lease will run out. ${describeError(error)}`, fields);
    });
    void this.inFlight.track(running).then(() => this.wake());
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
