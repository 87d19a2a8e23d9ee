import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationShutdown } from '@nestjs/common';
import { GroupCommit } from '../common/group-commit.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { CallbackBatchStore } from './storage/callback-batch.store.js';
import { CallbackStore, type NewCallback, type Recorded } from './storage/callback.store.js';
import { mayConcernOneRow } from '../database/query-errors.js';

/** Small enough that a statement takes little of `storeTimeoutMs`. */
const MAX_ROWS_OF_STATEMENT = 256;

/** Limits the connections that a flood of uncommon cases can take from the pool. */
const MAX_SINGLE_STATEMENTS = 2;

const MATCHED = { value: 'matched' } as const;

/**
 * Stores callbacks in batches: each is answered after its own row is committed, or when `storeTimeoutMs` is over.
 *
 * The batch statement handles only the common case. Rows that it leaves out, and all rows of a batch that failed when
 * one row may be to blame, are stored one by one beside the batches. So at most three connections are used, however
 * many callbacks arrive.
 */
@Injectable()
export class CallbackJournal implements BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly commits: GroupCommit<NewCallback, Recorded>;

  constructor(
    batches: CallbackBatchStore,
    singles: CallbackStore,
    @Inject(RESOLVED_OPTIONS) { callbacks: options }: ResolvedOptions,
  ) {
    this.commits = new GroupCommit({
      name: 'PaymentCallbackJournal',
      maxBatch: MAX_ROWS_OF_STATEMENT,
      maxWaiting: options.maxQueued,
      maxAlone: MAX_SINGLE_STATEMENTS,
      timeoutMs: options.storeTimeoutMs,
      maxWaitMs: options.storeTimeoutMs,
      kindOf: ({ intentId }) => intentId === null,
      run: async (callbacks) => {
        const stored = await batches.record(callbacks, options.maxPerBill);
        return callbacks.map(({ id }) => (stored.has(id) ? MATCHED : undefined));
      },
      alone: (callback) => singles.record(callback, options),
      isSeparable: mayConcernOneRow,
    });
  }

  /**
   * Resolves when the callback's row is committed.
   * @throws GroupCommitFullError, GroupCommitTimeoutError, or the database's error
   */
  record(callback: NewCallback): Promise<Recorded> {
    return this.commits.add(callback);
  }

  /**
   * Requests arrive until the server is closed. So this hook drains those already here, and the next one drains the
   * rest: every request is answered before the data source closes. Neither takes longer than `storeTimeoutMs`.
   */
  beforeApplicationShutdown(): Promise<void> {
    return this.commits.drained();
  }

  onApplicationShutdown(): Promise<void> {
    return this.commits.drained();
  }
}
