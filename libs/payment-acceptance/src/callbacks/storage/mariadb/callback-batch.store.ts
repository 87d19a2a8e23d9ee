import { Injectable } from '@nestjs/common';
import type { BillId } from '../../../domain/ids.js';
import type { CallbackBatchStore } from '../callback-batch.store.js';
import type { NewCallback } from '../callback.store.js';
import { integer } from '../../../database/reading.js';
import { join, sql } from '../../../database/statement.js';
import { callbackRow, insertCallbacks, readOwnBills } from './callback-rows.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';

@Injectable()
export class MariaCallbackBatchStore implements CallbackBatchStore {
  constructor(private readonly database: MariaDatabase) {}

  record(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>> {
    const known = callbacks.some(({ intentId }) => intentId !== null);
    const keyOf = known ? keyByIntentId : keyByServiceId;
    const named = known
      ? sql`b.intent_id IN (${callbacks.flatMap(({ intentId }) => intentId ?? [])})`
      : sql`(b.shop, b.bill_id) IN (${join(
          callbacks.map(({ shop, billId }) => sql`(${shop}, ${billId})`),
          ', ',
        )})`;
    return this.database.transaction(async (tx) => {
      const bills = await readOwnBills(this.database, tx, named);
      const counts = await this.database.rows<{ intentId: string; count: number }>(
        sql`SELECT intent_id AS "intentId", count(*) AS count FROM payment_acceptance.callback
         WHERE intent_id IN (${bills.map(({ intentId }) => intentId)}) GROUP BY intent_id`,
        { count: integer },
        tx,
      );
      const own = new Map(bills.map((bill) => [known ? bill.intentId : key(bill.shop, bill.billId), bill]));
      const kept = new Map(counts.map(({ intentId, count }) => [intentId, count]));
      const now = this.database.dialect.now(this.database.offsetMs);
      const stored = callbacks.flatMap((callback, nr) => {
        const bill = own.get(keyOf(callback));
        if (!bill) return [];
        const place = (kept.get(bill.intentId) ?? 0) + 1;
        kept.set(bill.intentId, place);
        const receivedAt = sql`${now} + INTERVAL ${nr} MICROSECOND`;
        return place > maxPerBill ? [] : [{ id: callback.id, row: callbackRow(callback, bill, receivedAt, now) }];
      });
      const rows = stored.map(({ row }) => row);
      if (rows.length > 0) await insertCallbacks(this.database, tx, rows);
      return new Set(stored.map(({ id }) => id));
    });
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
