import { Injectable } from '@nestjs/common';
import type { NewBill } from '../../bills/storage/bill.store.js';
import type { CreatedBill } from '../../client/answers.js';
import type { Shop } from '../../config/resolved-options.js';
import type { BillRecord } from '../../domain/bill.js';
import { Database } from '../../database/database.js';
import type { BillId } from '../../domain/ids.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

export type ForeignBill = Omit<NewBill, 'attempt' | 'traceparent'> & CreatedBill & { readonly createdAt: Date };

export type KnownBill = Pick<BillRecord, 'orderId' | 'amount' | 'currency' | 'state'>;

@Injectable()
export class ImportStore {
  constructor(private readonly database: Database) {}

  async findBill(shop: string, billId: BillId, tx?: OwnTransaction): Promise<KnownBill | undefined> {
    const [bill] = await (tx ?? this.database).rows<KnownBill>({})`
      SELECT order_id AS "orderId", ${this.database.dialect.text('amount')} AS amount, currency, state
      FROM payment_acceptance.bill WHERE shop = ${shop} AND bill_id = ${billId}`;
    return bill;
  }

  /** Another name of the same shop under which the bill is known: it would be settled twice. */
  async otherNameOf(shop: Shop, billId: BillId): Promise<string | undefined> {
    const [other] = await this.database.rows<{ name: string }>({})`
      SELECT s.shop AS name FROM payment_acceptance.shop_state s
      JOIN payment_acceptance.bill b ON b.shop = s.shop AND b.bill_id = ${billId}
      WHERE s.shop_id = ${shop.shopId} AND s.api_base_url = ${shop.apiBaseUrl} AND s.shop <> ${shop.name} LIMIT 1`;
    return other?.name;
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
