import { sql } from '../../database/statement.js';

/**
 * Whether the ledger has no bill for the row `l` of `lost_bill`: once attached or imported, a bill is no longer lost.
 * Counts, so that each bill is looked up by its key: for NOT EXISTS, PostgreSQL might read the whole ledger.
 */
export const NOT_IN_LEDGER = sql`(SELECT count(*) FROM payment_acceptance.bill b
  WHERE b.shop = l.shop AND b.bill_id = l.bill_id) = 0`;

/** Whether the row `l` of `lost_bill` is confirmed by the service and not dealt with yet. */
export const IS_LOST = sql`l.state = 'LOST' AND ${NOT_IN_LEDGER}`;

/** Whether a callback `c` waits for an unknown bill. */
export const IS_WAITING = sql`c.pending = TRUE AND c.intent_id IS NULL`;
