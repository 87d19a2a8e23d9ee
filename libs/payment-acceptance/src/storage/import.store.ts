import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { BillState } from '../domain/bill.js';
import type { DecimalAmount } from '../domain/money.js';
import { Database } from './database.js';
import { NOW } from './sql.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';

/** A bill that another program has had made by the service. */
export interface ForeignBill {
  readonly intentId: IntentId;
  readonly shop: string;
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

/** What is known already of a bill of the service. */
export interface KnownBill {
  readonly orderId: OrderId;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly state: BillState;
}

/** The statements of taking over bills that were made elsewhere. */
@Injectable()
export class ImportStore {
  constructor(private readonly database: Database) {}

  async known(shop: string, billId: BillId, manager?: EntityManager): Promise<KnownBill | undefined> {
    const [bill] = await this.database.query<KnownBill>(
      `SELECT order_id AS "orderId", amount::text AS amount, currency, state FROM payment_acceptance.bill
       WHERE shop = $1 AND service_bill_id = $2`,
      [shop, billId],
      manager,
    );
    return bill;
  }

  /** Stores the bill as open and due, as the next attempt of its order, which must be locked. */
  async insert(manager: EntityManager, bill: ForeignBill): Promise<void> {
    const createdAt = `to_timestamp($16::double precision / 1000)`;
    await this.database.query(
      `INSERT INTO payment_acceptance.bill (id, shop, order_id, attempt, state, amount, currency, payer_pays_commission,
         description, name, type, custom, custom_given, service_bill_id, link_url, link_page_url, created_at, opened_at,
         next_check_at, check_after)
       SELECT $2, $3, $4, (SELECT coalesce(max(attempt), 0) + 1 FROM payment_acceptance.bill
         WHERE shop = $3 AND order_id = $4), 'OPEN', $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
         ${createdAt}, ${createdAt}, ${NOW}, ${NOW}`,
      [
        this.database.offsetMs,
        bill.intentId,
        bill.shop,
        bill.orderId,
        bill.amount,
        bill.currency,
        bill.payerPaysCommission,
        bill.description,
        bill.name,
        bill.type,
        bill.custom,
        bill.customGiven,
        bill.billId,
        bill.linkUrl,
        bill.linkPageUrl,
        bill.createdAt.getTime(),
      ],
      manager,
    );
  }
}
