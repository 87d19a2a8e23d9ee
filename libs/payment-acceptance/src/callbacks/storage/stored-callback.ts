import type { BillRecord } from '../../domain/bill.js';
import type { Database } from '../../database/database.js';
import type { OwnTransaction } from '../../database/own-transaction.js';
import type { Queryable } from '../../database/queryable.js';
import { flag } from '../../database/reading.js';
import { sql, type Statement } from '../../database/statement.js';
import type { CallbackKind, DigestCheck } from '../../domain/callback.js';
import type { DecimalAmount } from '../../domain/money.js';
import type { BillId, IntentId, OrderId } from '../../domain/ids.js';

/** A callback as it is stored: with the result of checking its digest, but without the digest itself or a full card number. */
export interface NewCallback {
  readonly id: string;
  readonly kind: CallbackKind;
  readonly shop: string;
  /** Our bill, if our own records identify it (redirects); otherwise the bill is found by `billId`. */
  readonly intentId: IntentId | null;
  /** `TrsId` of a postback. */
  readonly billId: BillId | null;
  /** The order that it names, to be compared with ours; not stored. */
  readonly orderId: OrderId | null;
  /** The order that it names, as it is stored: with card numbers masked. */
  readonly maskedOrderId: string | null;
  readonly status: string | null;
  readonly digest: DigestCheck;
  /** `OutSum` as an exact decimal(10,2); `0`, which no bill has, if it cannot be read; `null` if absent. */
  readonly amount: DecimalAmount | null;
  readonly currency: string | null;
  readonly custom: string | null;
  readonly fields: object;
}

export interface OwnBill extends Pick<
  BillRecord,
  'intentId' | 'shop' | 'billId' | 'orderId' | 'amount' | 'currency' | 'custom' | 'customGiven'
> {
  /** Whether its personal data has been removed, so that none may be stored again. */
  readonly redacted: boolean;
}

/**
 * Reads without a lock: recording never waits for a bill.
 * @param condition selects the bills `b`
 */
export function readOwnBills(database: Database, condition: Statement, tx?: OwnTransaction): Promise<OwnBill[]> {
  return (tx ?? database).rows<OwnBill>({ customGiven: flag, redacted: flag })`
    SELECT b.intent_id AS "intentId", b.shop, b.bill_id AS "billId", b.order_id AS "orderId",
      ${database.dialect.text('b.amount')} AS amount, b.currency, b.custom, b.custom_given AS "customGiven",
      b.redacted_at IS NOT NULL AS redacted
    FROM payment_acceptance.bill b WHERE ${condition}`;
}

/** @param rows VALUES or SELECT of what {@link callbackRow} makes */
export function insertCallbacks(within: Queryable, rows: Statement): Promise<number> {
  return within.change`
    INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, bill_id, order_id, status, digest,
    corroboration, fields, received_at, pending, due_at) ${rows}`;
}

/** When a callback without a bill is due, so that no search for due ones reads it. Linking it to its bill makes it due. */
const NEVER = sql`TIMESTAMP '9999-12-31 00:00:00'`;

/** What is due later is never due, whatever the time zone of the session. */
export const LAST_DUE = sql`'9999-01-01'`;

/**
 * Compares the callback with its bill in this process: only the result is sent to the database, since the error of a
 * statement keeps its parameters, and the callback's texts may contain a full card number.
 */
export function callbackRow(
  callback: NewCallback,
  bill: OwnBill | undefined,
  now: Statement,
  receivedAt = now,
): Statement {
  const agrees = (billValue: string, callbackValue: string | null): string =>
    callbackValue === null ? 'absent' : callbackValue === billValue ? 'match' : 'mismatch';
  const corroboration = bill
    ? {
        order: agrees(bill.orderId, callback.orderId),
        amount: agrees(bill.amount, callback.amount),
        currency: agrees(bill.currency, callback.currency),
        // A removed `custom` leaves nothing to compare with.
        ...(!(bill.redacted && bill.customGiven) && { custom: agrees(bill.custom, callback.custom) }),
      }
    : {};
  const { id, kind, shop, billId, maskedOrderId, status, digest, fields } = callback;
  return sql`${id}, ${kind}, ${shop}, ${bill?.intentId ?? null}, ${billId}, ${maskedOrderId}, ${status}, ${digest},
    ${JSON.stringify(corroboration)}, ${JSON.stringify(bill?.redacted ? {} : fields)}, ${receivedAt}, true, ${bill ? now : NEVER}`;
}
