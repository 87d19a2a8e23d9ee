import { Injectable } from '@nestjs/common';
import type { BillState } from '../../domain/bill.js';
import type { DecimalAmount } from '../../domain/money.js';
import { Database } from '../../database/database.js';
import { sql } from '../../database/statement.js';
import type { BillId, IntentId, OrderId } from '../../domain/ids.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

/** A bill that another program created at the service. */
export interface ForeignBill {
  readonly intentId: IntentId;
  readonly shop: string;
  /** The service's id of the shop. */
  readonly shopId: string;
  readonly orderId: OrderId;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
  readonly description: string | null;
  readonly name: string | null;
  readonly type: string;
  readonly custom: string;
  readonly customGiven: boolean;
  /** The service's id. */
  readonly billId: BillId;
  readonly linkUrl: string | null;
  readonly linkPageUrl: string | null;
  readonly createdAt: Date;
}

/** What the ledger already has of a bill. */
export interface KnownBill {
  readonly orderId: OrderId;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly state: BillState;
}

/** The statements that import bills created elsewhere. */
@Injectable()
export class ImportStore {
  constructor(private readonly database: Database) {}

  async known(shop: string, billId: BillId, tx?: OwnTransaction): Promise<KnownBill | undefined> {
    const [bill] = await this.database.rows<KnownBill>(
      sql`SELECT order_id AS "orderId", ${this.database.dialect.text('amount')} AS amount, currency, state
       FROM payment_acceptance.bill WHERE shop = ${shop} AND bill_id = ${billId}`,
      {},
      tx,
    );
    return bill;
  }

  /** Stores the bill as open and due, as the next attempt of its order, which must be locked. */
  async insert(tx: OwnTransaction, bill: ForeignBill): Promise<void> {
    const { dialect, offsetMs } = this.database;
    const [createdAt, now] = [dialect.instant(bill.createdAt.getTime()), dialect.now(offsetMs)];
    await this.database.change(
      sql`INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission,
         description, name, type, custom, custom_given, bill_id, link_url, link_page_url, created_at, opened_at,
         next_check_at, check_after)
       SELECT ${bill.intentId}, ${bill.shop}, ${bill.shopId}, ${bill.orderId}, (SELECT coalesce(max(attempt), 0) + 1
           FROM payment_acceptance.bill WHERE shop = ${bill.shop} AND order_id = ${bill.orderId}),
         'OPEN', ${bill.amount}, ${bill.currency}, ${bill.payerPaysCommission}, ${bill.description}, ${bill.name},
         ${bill.type}, ${bill.custom}, ${bill.customGiven}, ${bill.billId}, ${bill.linkUrl}, ${bill.linkPageUrl},
         ${createdAt}, ${createdAt}, ${now}, ${now}`,
      tx,
    );
  }
}
