import { Inject, Injectable } from '@nestjs/common';
import { sharedLookUps } from '../../common/shared-look-ups.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../../config/resolved-options.js';
import { Database } from '../../database/database.js';
import { sql, type Statement } from '../../database/statement.js';
import type { BillRecord } from '../../domain/bill.js';
import type { BillId, OrderId } from '../../domain/ids.js';

export type NamedBill = Pick<BillRecord, 'intentId' | 'shop' | 'orderId' | 'billId'>;

/** Only our own records say which bill a callback is about. Reads without a lock. */
@Injectable()
export class NamedBillStore {
  /** Anybody can send the id of an intent, so look-ups share statements. */
  readonly byId: (id: string) => Promise<NamedBill | undefined>;

  constructor(
    private readonly database: Database,
    @Inject(RESOLVED_OPTIONS) { callbacks }: ResolvedOptions,
  ) {
    this.byId = sharedLookUps('PaymentNamedBills', callbacks.storeTimeoutMs, async (ids) => {
      const bills = await this.read(sql`WHERE intent_id ${database.dialect.oneOf(ids, 'uuid')}`);
      return new Map(bills.map((bill) => [bill.intentId, bill]));
    });
  }

  /** The order's latest bill that has an id at the service, or else its latest intent. */
  async latestOfOrder(shop: string, orderId: OrderId): Promise<NamedBill | undefined> {
    const [latest] = await this.read(
      sql`WHERE shop = ${shop} AND order_id = ${orderId} ORDER BY (bill_id IS NULL), attempt DESC LIMIT 1`,
    );
    return latest;
  }

  async isOurs(shop: string, billId: BillId): Promise<boolean> {
    const ours = await this.database.rows({})`
      SELECT 1 FROM payment_acceptance.bill WHERE shop = ${shop} AND bill_id = ${billId}`;
    return ours.length > 0;
  }

  private read(which: Statement): Promise<NamedBill[]> {
    return this.database.rows<NamedBill>({})`
      SELECT intent_id AS "intentId", shop, order_id AS "orderId", bill_id AS "billId"
      FROM payment_acceptance.bill ${which}`;
  }
}
