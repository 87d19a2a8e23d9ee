import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationShutdown } from '@nestjs/common';
import { PaymentClock } from '../common/clock.js';
import { GroupCommit } from '../common/group-commit.js';
import { InFlight } from '../common/in-flight.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { CallbackStore, type RecordResult, type RecordLimits } from './storage/callback.store.js';
import type { NewCallback } from './storage/stored-callback.js';
import { mayConcernOneRow } from '../database/query-errors.js';

/** Small enough that a statement takes little of `storeTimeoutMs`. */
const MAX_ROWS_OF_STATEMENT = 256;

/** Limits the connections that a flood of uncommon cases can take from the pool. */
const MAX_SINGLE_STATEMENTS = 2;

/** How long a queue counts as full after it was found full. */
const FULL_QUEUE_MS = 1_000;

const MATCHED_RESULT = { value: 'matched' } as const;

/**
 * Stores callbacks in batches: each is answered after its own row is committed, or when `storeTimeoutMs` is over.
 *
 * The batch statement handles only the common case. Rows that it leaves out, and all rows of a batch that failed when
 * one row may be to blame, are stored one by one beside the batches. So at most three connections are used, however
 * many callbacks arrive.
 */
@Injectable()
export class CallbackJournal implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly fullAt = new Map<string, number>();
  private readonly commits: GroupCommit<NewCallback, RecordResult>;
  private recording = new InFlight();

  constructor(
    private readonly store: CallbackStore,
    private readonly clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) { callbacks: options }: ResolvedOptions,
  ) {
    this.commits = new GroupCommit({
      name: 'PaymentCallbackJournal',
      maxBatch: MAX_ROWS_OF_STATEMENT,
      maxWaiting: options.maxQueued,
      maxSingles: MAX_SINGLE_STATEMENTS,
      timeoutMs: options.storeTimeoutMs,
      maxWaitMs: options.storeTimeoutMs,
      kindOf: ({ intentId }) => intentId === null,
      run: async (callbacks) => {
        const stored = await store.recordMany(callbacks, options.maxPerBill);
        return callbacks.map(({ id }) => (stored.has(id) ? MATCHED_RESULT : undefined));
      },
      processSingle: (callback) => this.recordAlone(callback, options),
      isSeparable: mayConcernOneRow,
    });
  }

  /** A full queue is counted only once a second: refusing must cost less than accepting. */
  private async recordAlone(callback: NewCallback, limits: RecordLimits): Promise<RecordResult> {
    const { shop } = callback;
    const now = this.clock.elapsed();
    const isFull = now - (this.fullAt.get(shop) ?? -Infinity) < FULL_QUEUE_MS;
    const recorded = await this.store.record(callback, isFull ? { ...limits, maxUnmatched: 0 } : limits);
    if (recorded === 'full' && !isFull) this.fullAt.set(shop, now);
    return recorded;
  }

  /**
   * Resolves when the callback's row is committed.
   * @throws GroupCommitFullError, GroupCommitTimeoutError, or the database's error
   */
  record(callback: NewCallback): Promise<RecordResult> {
    return this.recording.track(this.commits.add(callback));
  }

  /**
   * Requests arrive until the server is closed. This hook drains those already here and the next one drains the rest,
   * so that every request is answered before the data source closes. Neither takes longer than `storeTimeoutMs`.
   */
  beforeApplicationShutdown(): Promise<void> {
    return this.drain();
  }

  onApplicationShutdown(): Promise<void> {
    return this.drain();
  }

  /** Does not wait for what arrives meanwhile. */
  private drain(): Promise<void> {
    const { recording } = this;
    this.recording = new InFlight();
    return recording.idle();
  }
}
