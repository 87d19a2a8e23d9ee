import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { sharedLookUps } from '../common/shared-look-ups.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ResultStore, type BillResult } from './storage/result.store.js';
import { DroppedCallbacks } from './dropped-callbacks.js';
import type { IntentId } from '../domain/ids.js';

const POLL_MS = 100;

/**
 * Briefly waits for the check that a redirect requested, so that the payer usually sees the final result. Pages that
 * arrive together share one statement, and so do all that wait: they poll at the same times. The number of waiting pages
 * is limited.
 */
@Injectable()
export class AwaitedResults {
  private waiting = 0;
  private readonly look: (id: IntentId) => Promise<BillResult | undefined>;

  constructor(
    results: ResultStore,
    private readonly dropped: DroppedCallbacks,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    const { storeTimeoutMs } = options.callbacks;
    this.look = sharedLookUps('PaymentResults', storeTimeoutMs, (ids) => results.ofIntents(ids));
  }

  /** Resolves with `undefined` if there is no such bill. */
  async waitFor(shop: string, intentId: IntentId): Promise<BillResult | undefined> {
    const { resultWaitMs, maxWaitingResults } = this.options.callbacks;
    const deadline = performance.now() + resultWaitMs;
    let result = await this.look(intentId);
    const isOver = (): boolean => result?.result !== 'pending' || performance.now() >= deadline;
    if (isOver()) return result;
    if (this.waiting >= maxWaitingResults) {
      this.dropped.count('unawaitedResults', shop);
      return result;
    }
    this.waiting += 1;
    try {
      while (!isOver()) {
        await sleep(Math.ceil(POLL_MS - (performance.now() % POLL_MS)) + 1);
        result = await this.look(intentId);
      }
      return result;
    } finally {
      this.waiting -= 1;
    }
  }
}
