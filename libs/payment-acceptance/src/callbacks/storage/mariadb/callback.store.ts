import {
  expectedStatus,
  CallbackStore,
  type NewCallback,
  type OpenedBill,
  type RecordResult,
  type RecordLimits,
} from '../callback.store.js';
import { integer, flag } from '../../../database/reading.js';
import { sql, join, type Statement } from '../../../database/statement.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';
import type { BillId } from '../../../domain/ids.js';
import type { BillRecord } from '../../../domain/bill.js';

interface OwnBill extends Pick<
  BillRecord,
  'intentId' | 'shop' | 'billId' | 'orderId' | 'amount' | 'currency' | 'custom' | 'customGiven'
> {
  /** Whether its personal data has been removed, so that none may be stored again. */
  readonly redacted: boolean;
}

export class MariaCallbackStore extends CallbackStore<MariaDatabase> {
  override async record(callback: NewCallback, limits: RecordLimits): Promise<RecordResult> {
    const { intentId, shop, billId } = callback;
    const recorded = await this.database.transaction(async (tx) => {
      const [bill] = await this.readOwnBills(
        tx,
        intentId === null ? sql`b.shop = ${shop} AND b.bill_id = ${billId}` : sql`b.intent_id = ${intentId}`,
      );
      const refused = bill
        ? await this.isRepeat(tx, bill.intentId, callback, limits.maxPerBill)
        : await this.isFull(tx, callback, limits.maxUnmatched);
      if (refused) return bill ? 'repeated' : 'full';
      await this.insert(tx, [callbackRow(callback, bill, this.database.now(), this.database.now())]);
      return bill ? 'matched' : 'unmatched';
    });
    return recorded === 'unmatched' && (await this.linkLate(callback)) ? 'matched' : recorded;
  }

  override recordMany(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>> {
    const hasIntentIds = callbacks.some(({ intentId }) => intentId !== null);
    const keyOf = hasIntentIds ? keyByIntentId : keyByServiceId;
    const named = hasIntentIds
      ? sql`b.intent_id IN (${callbacks.flatMap(({ intentId }) => intentId ?? [])})`
      : sql`(b.shop, b.bill_id) IN (${join(
          callbacks.map(({ shop, billId }) => sql`(${shop}, ${billId})`),
          ', ',
        )})`;
    return this.database.transaction(async (tx) => {
      const bills = await this.readOwnBills(tx, named);
      const counts = await tx.rows<{ intentId: string; count: number }>({ count: integer })`
        SELECT intent_id AS "intentId", count(*) AS count FROM payment_acceptance.callback
        WHERE intent_id IN (${bills.map(({ intentId }) => intentId)}) GROUP BY intent_id`;
      const billsByKey = new Map(
        bills.map((bill) => [hasIntentIds ? bill.intentId : key(bill.shop, bill.billId), bill]),
      );
      const countByBill = new Map(counts.map(({ intentId, count }) => [intentId, count]));
      const now = this.database.now();
      const stored = callbacks.flatMap((callback, nr) => {
        const bill = billsByKey.get(keyOf(callback));
        if (!bill) return [];
        const place = (countByBill.get(bill.intentId) ?? 0) + 1;
        countByBill.set(bill.intentId, place);
        const receivedAt = sql`${now} + INTERVAL ${nr} MICROSECOND`;
        return place > maxPerBill ? [] : [{ id: callback.id, row: callbackRow(callback, bill, receivedAt, now) }];
      });
      const rows = stored.map(({ row }) => row);
      if (rows.length > 0) await this.insert(tx, rows);
      return new Set(stored.map(({ id }) => id));
    });
  }

  override async linkWaiting(bill: OpenedBill): Promise<void> {
    await this.database.transaction(
      (tx) =>
        tx.change`UPDATE payment_acceptance.callback SET intent_id = ${bill.intentId}
        WHERE pending = 1 AND shop = ${bill.shop} AND bill_id = ${bill.billId} AND intent_id IS NULL`,
    );
  }

  /** If no pending callback requests the same check, makes room if the bill has enough callbacks. */
  private async isRepeat(
    tx: OwnTransaction,
    bill: string,
    callback: NewCallback,
    maxPerBill: number,
  ): Promise<boolean> {
    const [row] = await tx.rows<{ count: number }>({ count: integer })`SELECT count(*) AS count FROM (
      SELECT 1 FROM payment_acceptance.callback WHERE intent_id = ${bill} LIMIT ${maxPerBill + 1}) kept`;
    const surplus = (row?.count ?? 0) - maxPerBill + 1;
    if (surplus <= 0) return false;
    const expected = expectedStatus(sql`${callback.kind}`, sql`${callback.status}`);
    const repeated = await tx.rows({})`
      SELECT 1 FROM payment_acceptance.bill b JOIN payment_acceptance.callback c ON c.intent_id = b.intent_id
      WHERE b.intent_id = ${bill} AND c.pending = 1 AND c.asks = 0 AND c.received_at <= ${this.database.now()}
        AND (b.lease_token IS NULL OR c.received_at > b.check_after)
        AND coalesce(${expected}, '') IN ('', ${expectedStatus('c.kind', 'c.status')}) LIMIT 1`;
    if (repeated.length > 0) return true;
    const replaced = await tx.rows<{ id: string }>({})`
      SELECT c.id FROM payment_acceptance.callback c WHERE c.intent_id = ${bill} AND c.pending = 0
      ORDER BY c.outcome <=> 'confirmed', c.received_at DESC LIMIT ${surplus} FOR UPDATE SKIP LOCKED`;
    await this.database.delete(
      tx,
      'callback',
      replaced.map(({ id }) => id),
    );
    return false;
  }

  private async isFull(tx: OwnTransaction, { shop }: NewCallback, maxUnmatched: number): Promise<boolean> {
    if (maxUnmatched === 0) return true;
    const [waiting] = await tx.rows<{ count: number }>({ count: integer })`SELECT count(*) AS count FROM (
      SELECT 1 FROM payment_acceptance.callback c WHERE c.pending = 1 AND c.intent_id IS NULL AND c.shop = ${shop}
      LIMIT ${maxUnmatched}) waiting`;
    return (waiting?.count ?? 0) >= maxUnmatched;
  }

  /**
   * Reads without a lock: recording never waits for a bill.
   * @param condition selects the bills `b`
   */
  private readOwnBills(tx: OwnTransaction, condition: Statement): Promise<OwnBill[]> {
    return tx.rows<OwnBill>({ customGiven: flag, redacted: flag })`
      SELECT b.intent_id AS "intentId", b.shop, b.bill_id AS "billId", b.order_id AS "orderId",
        CAST(b.amount AS CHAR) AS amount, b.currency, b.custom, b.custom_given AS "customGiven",
        b.redacted_at IS NOT NULL AS redacted
      FROM payment_acceptance.bill b WHERE ${condition}`;
  }

  /** @param rows as {@link callbackRow} makes them; at least one */
  private async insert(tx: OwnTransaction, rows: readonly Statement[]): Promise<void> {
    await tx.change`
      INSERT INTO payment_acceptance.callback (id, kind, shop, intent_id, bill_id, order_id, status, digest,
      corroboration, fields, received_at, pending, due_at) VALUES ${join(rows, ', ')}`;
  }
}

function keyByIntentId({ intentId }: NewCallback): string {
  return intentId ?? '';
}

function keyByServiceId({ shop, billId }: NewCallback): string {
  return key(shop, billId);
}

function key(shop: string, billId: BillId | null): string {
  return `${shop} ${billId ?? ''}`;
}

/**
 * Compares the callback with its bill as our PostgreSQL statement does, but in this process, so that only the result is
 * sent to the database.
 */
function callbackRow(
  callback: NewCallback,
  bill: OwnBill | undefined,
  receivedAt: Statement,
  now: Statement,
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
  return sql`(${id}, ${kind}, ${shop}, ${bill?.intentId ?? null}, ${billId}, ${maskedOrderId}, ${status}, ${digest},
    ${JSON.stringify(corroboration)}, ${JSON.stringify(bill?.redacted ? {} : fields)}, ${receivedAt}, true, ${now})`;
}
