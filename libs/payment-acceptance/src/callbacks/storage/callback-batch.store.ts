import type { NewCallback } from './callback.store.js';

/**
 * The fast path for recording callbacks, many at once: their bill is known and below its limit. All others are left to
 * `CallbackStore.record`.
 */
export abstract class CallbackBatchStore {
  /**
   * Stores the eligible callbacks with their corroboration in one commit; returns their ids.
   * @param callbacks all with an `intentId`, or all without one
   */
  abstract record(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>>;
}
