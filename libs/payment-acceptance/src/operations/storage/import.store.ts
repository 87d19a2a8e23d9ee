import { Injectable } from '@nestjs/common';
import type { NewBill } from '../../bills/storage/bill.store.js';
import type { CreatedBill } from '../../client/answers.js';
import type { BillRecord } from '../../domain/bill.js';
import { Database } from '../../database/database.js';
import { flag } from '../../database/reading.js';
import type { BillId } from '../../domain/ids.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

export type ForeignBill = Omit<NewBill, 'attempt' | 'traceparent'> & CreatedBill & { readonly createdAt: Date };

export type KnownBill = Pick<BillRecord, 'orderId' | 'amount' | 'currency' | 'payerPaysCommission' | 'state'>;

@Injectable()
export class ImportStore {
  constructor(private readonly database: Database) {}

  async findBill(shop: string, billId: BillId): Promise<KnownBill | undefined> {
    const [bill] = await this.database.rows<KnownBill>({ payerPaysCommission: flag })`
      SELECT order_id AS "orderId", ${this.database.dialect.text('amount')} AS amount, currency, state,
        payer_pays_commission AS "payerPaysCommission"
      FROM payment_acceptance.bill WHERE shop = ${shop} AND bill_id = ${billId}`;
    return bill;
  }

  /** Stores the bill as open and due. Its order must be locked. */
  async insert(tx: OwnTransaction, bill: ForeignBill): Promise<void> {
    const { dialect } = this.database;
    const [createdAt, now] = [dialect.instant(bill.createdAt.getTime()), this.database.now()];
    await tx.change`
      INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission,
        description, name, type, custom, custom_given, bill_id, link_url, link_page_url, created_at, opened_at,
        next_check_at, check_after)
      SELECT ${bill.intentId}, ${bill.shop}, ${bill.shopId}, ${bill.orderId}, (SELECT coalesce(max(attempt), 0) + 1
          FROM payment_acceptance.bill WHERE shop = ${bill.shop} AND order_id = ${bill.orderId}),
        'OPEN', ${bill.amount}, ${bill.currency}, ${bill.payerPaysCommission}, ${bill.description}, ${bill.name},
        ${bill.type}, ${bill.custom}, ${bill.customGiven}, ${bill.billId}, ${bill.linkUrl}, ${bill.linkPageUrl},
        ${createdAt}, ${createdAt}, ${now}, ${now}`;
  }
}
