import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { BillRecord } from '../domain/bill.js';
import type { DecimalAmount } from '../domain/money.js';
import { Database } from './database.js';
import { inScope, type ShopScope } from './scope.js';
import { NOW, epochMs, inMs, instant } from './sql.js';
import type { BillId, IntentId, OrderId, PaymentId } from '../domain/ids.js';

export interface NewBill {
  readonly intentId: IntentId;
  readonly shop: string;
  readonly orderId: OrderId;
  readonly attempt: number;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
  readonly description: string | null;
  readonly name: string | null;
  readonly type: string;
  readonly custom: string;
  readonly customGiven: boolean;
  /** Where its trace goes on. */
  readonly traceparent: string | null;
}

interface BillRow extends Omit<BillRecord, 'createdAt' | 'openedAt' | 'paidAt'> {
  readonly createdAt: string;
  readonly openedAt: string | null;
  readonly paidAt: string | null;
}

/** Needs `$1` to be the clock's offset. */
const BILL_COLUMNS = `id AS "intentId", shop, order_id AS "orderId", attempt, state, amount::text AS amount, currency,
  payer_pays_commission AS "payerPaysCommission", custom, custom_given AS "customGiven",
  service_bill_id AS "billId", link_url AS "linkUrl", link_page_url AS "linkPageUrl", failure,
  ${epochMs('created_at')} AS "createdAt", ${epochMs('opened_at')} AS "openedAt", ${epochMs('paid_at')} AS "paidAt",
  coalesce(lease_until < ${NOW}, true) AS "leaseEnded"`;

const INTENT = `INSERT INTO payment_acceptance.bill (id, shop, order_id, attempt, state, amount, currency,
    payer_pays_commission, description, name, type, custom, custom_given, traceparent, created_at, check_after, lease_until)
  SELECT $3, $4, $5, $6, 'CREATING', $7, $8, $9, $10, $11, $12, $13, $14, $15, ${NOW}, ${NOW}, ${inMs('$2')}`;

/** Bills and the locks of their orders. */
@Injectable()
export class BillStore {
  constructor(private readonly database: Database) {}

  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /** Locks the order until the transaction ends; says which payment paid it first, if any. */
  async lockOrder(
    manager: EntityManager,
    shop: string,
    orderId: OrderId,
  ): Promise<{ firstPaymentId: PaymentId | null }> {
    const key = [shop, orderId];
    await this.database.query(
      `INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
      key,
      manager,
    );
    const [order] = await this.database.query<{ firstPaymentId: PaymentId | null }>(
      `SELECT first_payment_id AS "firstPaymentId" FROM payment_acceptance.shop_order
       WHERE shop = $1 AND order_id = $2 FOR UPDATE`,
      key,
      manager,
    );
    if (!order) throw new Error('The row of an order vanished while it was being locked.');
    return order;
  }

  /**
   * Stores the intent of an order that has none yet, in one statement; `false` where the order is known, or becomes so at
   * this moment. Whoever makes the row of an order has it locked, and is the first.
   */
  async insertFirst(bill: Omit<NewBill, 'attempt'>, leaseMs: number): Promise<boolean> {
    const stored = await this.database.atReadCommitted(
      `WITH first AS (INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES ($4, $5)
         ON CONFLICT DO NOTHING RETURNING shop)
       ${INTENT} FROM first RETURNING id`,
      this.intent({ ...bill, attempt: 1 }, leaseMs),
    );
    return stored.length === 1;
  }

  /** Stores an intent, before its request is sent. The order must be locked. */
  async insert(manager: EntityManager, bill: NewBill, leaseMs: number): Promise<void> {
    await this.database.query(INTENT, this.intent(bill, leaseMs), manager);
  }

  private intent(bill: NewBill, leaseMs: number): unknown[] {
    return [
      this.database.offsetMs,
      leaseMs,
      bill.intentId,
      bill.shop,
      bill.orderId,
      bill.attempt,
      bill.amount,
      bill.currency,
      bill.payerPaysCommission,
      bill.description,
      bill.name,
      bill.type,
      bill.custom,
      bill.customGiven,
      bill.traceparent,
    ];
  }

  /** The service has answered with a bill: opens it, also where it had been given up as `UNKNOWN` meanwhile. */
  async open(
    id: string,
    answer: { billId: BillId; linkUrl: string | null; linkPageUrl: string | null },
    firstCheckMs: number,
  ): Promise<BillRecord | undefined> {
    return this.one(
      `UPDATE payment_acceptance.bill
       SET state = 'OPEN', service_bill_id = $4, link_url = $5, link_page_url = $6, failure = NULL, opened_at = ${NOW},
         next_check_at = ${inMs('$2')}, check_after = ${NOW}, lease_until = NULL
       WHERE id = $3 AND state IN ('CREATING', 'UNKNOWN') RETURNING ${BILL_COLUMNS}`,
      [this.database.offsetMs, firstCheckMs, id, answer.billId, answer.linkUrl, answer.linkPageUrl],
    );
  }

  /**
   * Ends a creation that made no bill (`REJECTED`) or that may have made one (`UNKNOWN`); `false` where its own answer
   * came first.
   */
  async close(id: string, state: 'REJECTED' | 'UNKNOWN', failure: string, manager?: EntityManager): Promise<boolean> {
    const closed = await this.database.query(
      `UPDATE payment_acceptance.bill SET state = $3, failure = $4, lease_until = NULL, ended_at = ${NOW}
       WHERE id = $2 AND state = 'CREATING' RETURNING id`,
      [this.database.offsetMs, id, state, failure],
      manager,
    );
    return closed.length === 1;
  }

  /** Gives up creations whose process never came back. */
  async closeAbandoned(): Promise<BillRecord[]> {
    return this.many(
      `UPDATE payment_acceptance.bill
       SET state = 'UNKNOWN', failure = 'The process ended before the answer came.', lease_until = NULL, ended_at = ${NOW}
       WHERE id IN (SELECT id FROM payment_acceptance.bill WHERE state = 'CREATING' AND lease_until < ${NOW}
         LIMIT 100 FOR UPDATE SKIP LOCKED) RETURNING ${BILL_COLUMNS}`,
      [this.database.offsetMs],
    );
  }

  /** Ties postbacks that came before the creation's answer to their bill. Call it after `open` has committed. */
  async linkWaitingCallbacks(bill: Pick<BillRecord, 'intentId' | 'shop' | 'billId'>): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.callback SET bill_id = $1
       WHERE shop = $2 AND service_bill_id = $3 AND pending AND bill_id IS NULL`,
      [bill.intentId, bill.shop, bill.billId],
    );
  }

  /** The order's latest bill that the service knows; else its latest intent. */
  async latestOfOrder(shop: string, orderId: OrderId): Promise<BillRecord | undefined> {
    return this.one(
      `SELECT ${BILL_COLUMNS} FROM payment_acceptance.bill WHERE shop = $2 AND order_id = $3
       ORDER BY (service_bill_id IS NULL), attempt DESC LIMIT 1`,
      [this.database.offsetMs, shop, orderId],
    );
  }

  /** Every bill of the order, first attempt first. */
  async ofOrder(shop: string, orderId: OrderId, manager?: EntityManager): Promise<BillRecord[]> {
    return this.many(
      `SELECT ${BILL_COLUMNS} FROM payment_acceptance.bill WHERE shop = $2 AND order_id = $3 ORDER BY attempt`,
      [this.database.offsetMs, shop, orderId],
      manager,
    );
  }

  /** Creations whose outcome never became known, oldest first. */
  async unknown(limit: number, scope: ShopScope): Promise<BillRecord[]> {
    return this.many(
      `SELECT ${BILL_COLUMNS} FROM payment_acceptance.bill WHERE state = 'UNKNOWN' AND ${inScope('shop', '$3')}
       ORDER BY created_at LIMIT $2`,
      [this.database.offsetMs, limit, scope],
    );
  }

  /** By the id of our intent. */
  async byId(id: string, scope: ShopScope = null): Promise<BillRecord | undefined> {
    return this.one(`SELECT ${BILL_COLUMNS} FROM payment_acceptance.bill WHERE id = $2 AND ${inScope('shop', '$3')}`, [
      this.database.offsetMs,
      id,
      scope,
    ]);
  }

  private async one(sql: string, parameters: unknown[], manager?: EntityManager): Promise<BillRecord | undefined> {
    return (await this.many(sql, parameters, manager))[0];
  }

  private async many(sql: string, parameters: unknown[], manager?: EntityManager): Promise<BillRecord[]> {
    const rows = await this.database.query<BillRow>(sql, parameters, manager);
    return rows.map((row) => ({
      ...row,
      createdAt: instant(row.createdAt),
      openedAt: instant(row.openedAt),
      paidAt: instant(row.paidAt),
    }));
  }
}
