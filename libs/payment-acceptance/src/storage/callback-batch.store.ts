import type { NewCallback } from './callback.store.js';

/**
 * The common case of recording callbacks, many at once: their bill is known and far from its bound. Whatever is not the
 * common case is left out, for `CallbackStore.record`.
 */
export abstract class CallbackBatchStore {
  /**
   * Stores those that it can with their corroboration, all or none, and commits. Gives their ids.
   * @param callbacks all with a bill's id, or all without one
   */
  abstract record(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>>;
}
