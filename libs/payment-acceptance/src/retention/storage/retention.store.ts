import type { Database } from '../../database/database.js';
import { IS_LOST } from '../../settlement/storage/lost-bills.js';
import { sql } from '../../database/statement.js';

/**
 * Removes what is no longer needed, in batches, in one instance at a time. Touches only what has ended: pending callbacks,
 * bills, payments, events, reviews, dead letters and orders stay, whatever their age, if perhaps without personal data. Each
 * method returns the number of rows; if that is `limit`, there may be more.
 */
export abstract class RetentionStore {
  protected abstract readonly database: Database;

  /** Empties the raw fields of consumed callbacks; their outcome stays. */
  abstract redactCallbacks(afterMs: number, limit: number): Promise<number>;

  abstract deleteCallbacks(afterMs: number, limit: number): Promise<number>;

  /**
   * Removes the personal data of bills that are over and were created that long ago, and marks them, so that what is learned
   * of them later is stored without any.
   * @param limit in bills
   */
  abstract redactBills(afterMs: number, limit: number): Promise<number>;

  /** Removes the notes of operators' actions; the actions stay. */
  abstract redactNotes(afterMs: number, limit: number): Promise<number>;

  /** Removes the listed payments of lost bills that somebody has dealt with: the ledger has them, or they are not ours. */
  async redactLostBills(afterMs: number, limit: number): Promise<number> {
    const { dialect, offsetMs } = this.database;
    const old = await this.database.rows<{ id: string }>(
      sql`SELECT l.id FROM payment_acceptance.lost_bill l WHERE l.payments IS NOT NULL
         AND l.found_at < ${dialect.now(offsetMs - afterMs)} AND NOT (${IS_LOST}) LIMIT ${limit}`,
      {},
    );
    if (old.length === 0) return 0;
    const ids = old.map(({ id }) => id);
    return this.database.change(
      sql`UPDATE payment_acceptance.lost_bill SET payments = NULL WHERE id ${dialect.oneOf(ids, 'uuid')}`,
    );
  }
}
