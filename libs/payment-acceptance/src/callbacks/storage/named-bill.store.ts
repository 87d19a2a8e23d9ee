import { Injectable } from '@nestjs/common';
import { Database } from '../../database/database.js';
import { sql, type Statement } from '../../database/statement.js';
import type { BillRecord } from '../../domain/bill.js';
import type { BillId, OrderId } from '../../domain/ids.js';

/** A bill of ours that a callback names, and what its payer is shown of it. */
export type NamedBill = Pick<BillRecord, 'intentId' | 'shop' | 'orderId' | 'billId' | 'amount' | 'currency'>;

/** Finds the bill of a callback. Only our own records say which it is. Reads without a lock. */
@Injectable()
export class NamedBillStore {
  constructor(private readonly database: Database) {}

  /** By the id of our intent. */
  byId(id: string): Promise<NamedBill | undefined> {
    return this.read(sql`WHERE intent_id = ${id}`);
  }

  /** The order's latest bill that has an id at the service, or else its latest intent. */
  latestOfOrder(shop: string, orderId: OrderId): Promise<NamedBill | undefined> {
    return this.read(
      sql`WHERE shop = ${shop} AND order_id = ${orderId} ORDER BY (bill_id IS NULL), attempt DESC LIMIT 1`,
    );
  }

  /** Whether a bill of the shop has this id at the service. */
  async isOurs(shop: string, billId: BillId): Promise<boolean> {
    const ours = await this.database.rows(
      sql`SELECT 1 FROM payment_acceptance.bill WHERE shop = ${shop} AND bill_id = ${billId}`,
      {},
    );
    return ours.length > 0;
  }

  private async read(which: Statement): Promise<NamedBill | undefined> {
    const [bill] = await this.database.rows<NamedBill>(
      sql`SELECT intent_id AS "intentId", shop, order_id AS "orderId", bill_id AS "billId", ${this.database.dialect.text('amount')} AS amount, currency
       FROM payment_acceptance.bill ${which}`,
      {},
    );
    return bill;
  }
}
