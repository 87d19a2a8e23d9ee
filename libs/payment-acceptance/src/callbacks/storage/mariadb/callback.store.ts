import { CallbackStore, type OpenedBill } from '../callback.store.js';
import { callbackRow, insertCallbacks, readOwnBills, type NewCallback } from '../stored-callback.js';
import { integer } from '../../../database/reading.js';
import { sql, join } from '../../../database/statement.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';

export class MariaCallbackStore extends CallbackStore<MariaDatabase> {
  override recordMany(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>> {
    const hasIntentIds = callbacks.some(({ intentId }) => intentId !== null);
    const keyOf = ({ intentId, shop, billId }: Pick<NewCallback, 'intentId' | 'shop' | 'billId'>): string =>
      hasIntentIds ? String(intentId) : `${shop} ${billId}`;
    const named = hasIntentIds
      ? sql`b.intent_id IN (${callbacks.flatMap(({ intentId }) => intentId ?? [])})`
      : sql`(b.shop, b.bill_id) IN (${join(
          callbacks.map(({ shop, billId }) => sql`(${shop}, ${billId})`),
          ', ',
        )})`;
    return this.database.transaction(async (tx) => {
      const bills = await readOwnBills(this.database, named, tx);
      const counts = await tx.rows<{ intentId: string; count: number }>({ count: integer })`
        SELECT intent_id AS "intentId", count(*) AS count FROM payment_acceptance.callback
        WHERE intent_id IN (${bills.map(({ intentId }) => intentId)}) GROUP BY intent_id`;
      const billsByKey = new Map(bills.map((bill) => [keyOf(bill), bill]));
      const countByBill = new Map(counts.map(({ intentId, count }) => [intentId, count]));
      const now = this.database.now();
      const stored = callbacks.flatMap((callback, nr) => {
        const bill = billsByKey.get(keyOf(callback));
        if (!bill) return [];
        const place = (countByBill.get(bill.intentId) ?? 0) + 1;
        countByBill.set(bill.intentId, place);
        const receivedAt = sql`${now} + INTERVAL ${nr} MICROSECOND`;
        return place > maxPerBill
          ? []
          : [{ id: callback.id, row: sql`(${callbackRow(callback, bill, now, receivedAt)})` }];
      });
      const rows = stored.map(({ row }) => row);
      if (rows.length > 0) await insertCallbacks(tx, sql`VALUES ${join(rows, ', ')}`);
      return new Set(stored.map(({ id }) => id));
    });
  }

  override async linkWaiting(bill: OpenedBill): Promise<void> {
    await this.database.transaction(
      (tx) =>
        tx.change`UPDATE payment_acceptance.callback SET intent_id = ${bill.intentId}, due_at = ${this.database.now()}
        WHERE pending = 1 AND shop = ${bill.shop} AND bill_id = ${bill.billId} AND intent_id IS NULL`,
    );
  }
}
