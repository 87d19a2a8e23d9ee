import { Inject, Injectable } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { sharedLookUps } from '../common/shared-look-ups.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ResultStore, type BillResult } from './storage/result.store.js';
import { DroppedCallbacks } from './dropped-callbacks.js';
import type { IntentId } from '../domain/ids.js';

interface ResultWaiter {
  readonly intentId: IntentId;
  readonly deadline: number;
  resolve(result: BillResult | undefined): void;
  reject(error: unknown): void;
}

const POLL_MS = 100;

/**
 * Briefly waits for the check that a redirect requested, so that the payer usually sees the final result. Pages that
 * arrive together share one statement, and so do all that wait, at each poll. The number of waiting pages is limited.
 */
@Injectable()
export class AwaitedResults {
  private readonly waiting = new Set<ResultWaiter>();
  private readonly read: (ids: readonly IntentId[]) => ReturnType<ResultStore['ofIntents']>;
  private readonly look: (id: IntentId) => Promise<BillResult | undefined>;

  constructor(
    results: ResultStore,
    private readonly dropped: DroppedCallbacks,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.read = (ids) => results.ofIntents(ids);
    this.look = sharedLookUps('PaymentResults', options.callbacks.storeTimeoutMs, this.read);
  }

  /** Resolves with `undefined` if there is no such bill. */
  async waitFor(shop: string, intentId: IntentId): Promise<BillResult | undefined> {
    const { resultWaitMs, maxWaitingResults } = this.options.callbacks;
    const deadline = performance.now() + resultWaitMs;
    const result = await this.look(intentId);
    if (result?.result !== 'pending' || performance.now() >= deadline) return result;
    if (this.waiting.size >= maxWaitingResults) {
      this.dropped.count('unawaitedResults', shop);
      return result;
    }
    return new Promise((resolve, reject) => {
      this.waiting.add({ intentId, deadline, resolve, reject });
      if (this.waiting.size === 1) void this.poll();
    });
  }

  private async poll(): Promise<void> {
    while (this.waiting.size > 0) {
      await sleep(POLL_MS);
      const polled = [...this.waiting];
      try {
        const results = await this.read([...new Set(polled.map(({ intentId }) => intentId))]);
        const now = performance.now();
        for (const waiter of polled) {
          const result = results.get(waiter.intentId);
          if (result?.result !== 'pending' || now >= waiter.deadline) this.end(waiter, () => waiter.resolve(result));
        }
      } catch (error) {
        for (const waiter of polled) this.end(waiter, () => waiter.reject(error));
      }
    }
  }

  private end(waiter: ResultWaiter, answer: () => void): void {
    this.waiting.delete(waiter);
    answer();
  }
}
