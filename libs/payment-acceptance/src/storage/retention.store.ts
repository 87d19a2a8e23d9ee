import type { Database } from './database.js';
import { sql } from './statement.js';

/**
 * Removes what is no longer needed, in batches, in one instance at a time. Touches only ended rows: pending callbacks,
 * bills, payments, events, reviews, dead letters and orders stay, whatever their age. Each method returns the number of
 * rows; if that is `limit`, there may be more.
 */
export abstract class RetentionStore {
  protected abstract readonly database: Database;

  /** Empties the raw fields of consumed callbacks; their outcome stays. */
  abstract redactCallbacks(afterMs: number, limit: number): Promise<number>;

  abstract deleteCallbacks(afterMs: number, limit: number): Promise<number>;

  /**
   * Records that deliveries of this age may be removed from now on, by any instance: for older events it is no longer known
   * whether a consumer has had them. Call it before {@link deleteDeliveries}.
   */
  async noteRemoval(afterMs: number): Promise<void> {
    const { dialect, offsetMs } = this.database;
    const before = dialect.now(offsetMs - afterMs);
    await this.database.change(
      sql`UPDATE payment_acceptance.consumer SET kept_since = ${before} WHERE kept_since IS NULL OR kept_since < ${before}`,
    );
  }

  /** A finished delivery stays while an earlier one of its queue is not done, which it proves to be late. */
  abstract deleteDeliveries(afterMs: number, limit: number): Promise<number>;
}
