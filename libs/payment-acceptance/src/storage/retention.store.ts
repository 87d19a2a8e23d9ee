import type { Database } from './database.js';
import { sql } from './statement.js';

/**
 * Removes what has served its purpose, a batch at a time, in whichever instance is at it. Only ended rows are ever touched:
 * a pending callback, a bill, a payment, an event, a review, a dead letter and the lock of an order stay, whatever their
 * age. Each method gives the number of rows; there may be more of them where it is `limit`.
 */
export abstract class RetentionStore {
  protected abstract readonly database: Database;

  /** Empties the raw fields of consumed callbacks; what was found out about them stays. */
  abstract redactCallbacks(afterMs: number, limit: number): Promise<number>;

  abstract deleteCallbacks(afterMs: number, limit: number): Promise<number>;

  /**
   * Notes that deliveries of this age may be removed from now on, by whichever instance: of older events nobody can tell any
   * more whether a consumer has had them. Called before {@link deleteDeliveries}.
   */
  async noteRemoval(afterMs: number): Promise<void> {
    const { dialect, offsetMs } = this.database;
    const before = dialect.now(offsetMs - afterMs);
    await this.database.change(
      sql`UPDATE payment_acceptance.consumer SET kept_since = ${before} WHERE kept_since IS NULL OR kept_since < ${before}`,
    );
  }

  /** One that is done stays while an earlier one of its bill is not: by it that one knows that it is late. */
  abstract deleteDeliveries(afterMs: number, limit: number): Promise<number>;
}
