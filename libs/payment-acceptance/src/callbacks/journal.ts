import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationShutdown } from '@nestjs/common';
import { GroupCommit } from '../common/group-commit.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { CallbackBatchStore } from '../storage/callback-batch.store.js';
import { CallbackStore, type NewCallback, type Recorded } from '../storage/callback.store.js';
import { mayConcernOneRow } from '../storage/query-errors.js';

/** What their parameters take must stay small beside `storeTimeoutMs`. */
const MAX_ROWS_OF_STATEMENT = 256;

/** Floods of what is not the common case leave the pool to others. */
const MAX_SINGLE_STATEMENTS = 2;

const MATCHED = { value: 'matched' } as const;

/**
 * Stores callbacks in batches: each is answered after the commit of its own row, or when `storeTimeoutMs` are over.
 *
 * A statement of many takes only the common case. What it leaves out, and all of a batch that failed where one row may be
 * to blame, is stored one by one beside the batches. So two connections more than one are needed at most, however many
 * callbacks come.
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
   * @throws GroupCommitFullError, GroupCommitTimeoutError, or what the database says
   */
  record(callback: NewCallback): Promise<Recorded> {
    return this.commits.add(callback);
  }

  /**
   * Requests come until the server is closed, so the first time waits for those that are there, and the second one takes
   * the rest: all that came is answered before the data source goes. Neither takes longer than `storeTimeoutMs`.
   */
  beforeApplicationShutdown(): Promise<void> {
    return this.commits.drained();
  }

  onApplicationShutdown(): Promise<void> {
    return this.commits.drained();
  }
}
