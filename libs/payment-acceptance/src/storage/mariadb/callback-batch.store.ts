import { Injectable } from '@nestjs/common';
import type { CallbackBatchStore } from '../callback-batch.store.js';
import type { NewCallback } from '../callback.store.js';
import { INSERT_CALLBACKS, OWN_BILL, callbackRow, type OwnBill } from './callback.store.js';
import type { MariaDatabase } from './maria.database.js';

@Injectable()
export class MariaCallbackBatchStore implements Pick<CallbackBatchStore, 'record'> {
  constructor(private readonly maria: MariaDatabase) {}

  record(callbacks: readonly NewCallback[], maxPerBill: number): Promise<ReadonlySet<string>> {
    const known = callbacks.some(({ billId }) => billId !== null);
    const keyOf = known ? byId : byService;
    return this.maria.transaction(async (manager) => {
      const bills = await this.maria.query<OwnBill>(
        `SELECT ${OWN_BILL} FROM payment_acceptance.bill b
         WHERE ${known ? 'b.id = ANY($1)' : '(b.shop, b.service_bill_id) IN ($1)'}`,
        [
          known
            ? callbacks.map(({ billId }) => billId)
            : callbacks.map(({ shop, serviceBillId }) => [shop, serviceBillId]),
        ],
        manager,
      );
      const counts = await this.maria.query<{ id: string; count: number }>(
        `SELECT bill_id AS id, count(*)::int AS count FROM payment_acceptance.callback WHERE bill_id = ANY($1)
         GROUP BY bill_id`,
        [bills.map(({ id }) => id)],
        manager,
      );
      const own = new Map(bills.map((bill) => [known ? bill.id : key(bill.shop, bill.billId), bill]));
      const kept = new Map(counts.map(({ id, count }) => [id, count]));
      const now = this.maria.now();
      const rows = callbacks.flatMap((callback, nr) => {
        const bill = own.get(keyOf(callback));
        if (!bill) return [];
        const place = (kept.get(bill.id) ?? 0) + 1;
        kept.set(bill.id, place);
        return place > maxPerBill ? [] : [callbackRow(callback, bill, this.maria.now(nr), now)];
      });
      if (rows.length > 0) await this.maria.query(INSERT_CALLBACKS, [rows], manager);
      return new Set(rows.map(([id]) => id as string));
    });
  }
}

function byId({ billId }: NewCallback): string {
  return billId ?? '';
}

function byService({ shop, serviceBillId }: NewCallback): string {
  return key(shop, serviceBillId);
}

function key(shop: string, serviceBillId: string | null): string {
  return `${shop} ${serviceBillId ?? ''}`;
}
