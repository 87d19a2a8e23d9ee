import type { BillRecord } from '../../../domain/bill.js';
import type { NewCallback } from '../callback.store.js';
import { flag } from '../../../database/reading.js';
import { join, sql, type Statement } from '../../../database/statement.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';

/** The bill with which a callback is compared. */
export interface OwnBill extends Pick<
  BillRecord,
  'intentId' | 'shop' | 'billId' | 'orderId' | 'amount' | 'currency' | 'custom' | 'customGiven'
> {
  /** Whether its personal data is removed, so that none may be stored again. */
  readonly redacted: boolean;
}

/** Reads without a lock: recording never waits for a bill. @param condition selects the bills `b` */
export function readOwnBills(database: MariaDatabase, tx: OwnTransaction, condition: Statement): Promise<OwnBill[]> {
  return database.rows<OwnBill>(
    sql`SELECT b.intent_id AS "intentId", b.shop, b.bill_id AS "billId", b.order_id AS "orderId",
       CAST(b.amount AS CHAR) AS amount, b.currency, b.custom, b.custom_given AS "customGiven",
       b.redacted_at IS NOT NULL AS redacted
     FROM payment_acceptance.bill b WHERE ${condition}`,
    { customGiven: flag, redacted: flag },
    tx,
  );
}

/** @param rows as {@link callbackRow} makes them; at least one */
export async function insertCallbacks(
  database: MariaDatabase,
  tx: OwnTransaction,
  rows: readonly Statement[],
): Promise<void> {
  await database.change(
    sql`INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, bill_id, order_id, status, digest,
       corroboration, fields, received_at, pending, due_at) VALUES ${join(rows, ', ')}`,
    tx,
  );
}

/** Compares as our statement for PostgreSQL does, but in the process: only the result is sent to the database. */
export function callbackRow(
  callback: NewCallback,
  bill: OwnBill | undefined,
  receivedAt: Statement,
  now: Statement,
): Statement {
  const agrees = (own: string, told: string | null): string =>
    told === null ? 'absent' : told === own ? 'match' : 'mismatch';
  const corroboration = bill
    ? {
        order: agrees(bill.orderId, callback.orderId),
        amount: callback.amount === bill.amount ? 'match' : 'mismatch',
        currency: agrees(bill.currency, callback.currency),
        // Of a removed one there is nothing to compare with.
        ...(!(bill.redacted && bill.customGiven) && { custom: agrees(bill.custom, callback.custom) }),
      }
    : {};
  const { id, kind, shop, billId, maskedOrderId, status, digest, fields } = callback;
  return sql`(${id}, ${kind}, ${shop}, ${bill?.intentId ?? null}, ${billId}, ${maskedOrderId}, ${status}, ${digest},
    ${JSON.stringify(corroboration)}, ${JSON.stringify(bill?.redacted ? {} : fields)}, ${receivedAt}, true, ${now})`;
}
