import { Injectable } from '@nestjs/common';
import type { CallbackBatchStore } from '../callback-batch.store.js';
import type { NewCallback } from '../callback.store.js';
import { INSERT_CALLBACKS, OWN_BILL, callbackRow, type OwnBill } from './callback.store.js';
import type { MariaDatabase } from './maria.database.js';
import type { BillId } from '../../domain/ids.js';

@Injectable()
export class MariaCallbackBatchStore implements Pick<CallbackBatchStore, 'record'> {
  constructor(private readonly maria: MariaDatabase) {}

  record(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>> {
    const known = callbacks.some(({ intentId }) => intentId !== null);
    const keyOf = known ? byId : byService;
    return this.maria.transaction(async (manager) => {
      const bills = await this.maria.query<OwnBill>(
        `SELECT ${OWN_BILL} FROM payment_acceptance.bill b
         WHERE ${known ? 'b.id = ANY($1)' : '(b.shop, b.service_bill_id) IN ($1)'}`,
        [known ? callbacks.map(({ intentId }) => intentId) : callbacks.map(({ shop, billId }) => [shop, billId])],
        manager,
      );
      const counts = await this.maria.query<{ id: string; count: number }>(
        `SELECT bill_id AS id, count(*)::int AS count FROM payment_acceptance.callback WHERE bill_id = ANY($1)
         GROUP BY bill_id`,
        [bills.map(({ intentId }) => intentId)],
        manager,
      );
      const own = new Map(bills.map((bill) => [known ? bill.intentId : key(bill.shop, bill.billId), bill]));
      const kept = new Map(counts.map(({ id, count }) => [id, count]));
      const now = this.maria.now();
      const rows = callbacks.flatMap((callback, nr) => {
        const bill = own.get(keyOf(callback));
        if (!bill) return [];
        const place = (kept.get(bill.intentId) ?? 0) + 1;
        kept.set(bill.intentId, place);
        return place > maxPerBill ? [] : [callbackRow(callback, bill, this.maria.now(nr), now)];
      });
      if (rows.length > 0) await this.maria.query(INSERT_CALLBACKS, [rows], manager);
      return new Set(rows.map(([id]) => id as string));
    });
  }
}

function byId({ intentId }: NewCallback): string {
  return intentId ?? '';
}

function byService({ shop, billId }: NewCallback): string {
  return key(shop, billId);
}

function key(shop: string, billId: BillId | null): string {
  return `${shop} ${billId ?? ''}`;
}
