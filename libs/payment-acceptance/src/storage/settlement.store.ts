import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { DecimalAmount } from '../common/money.js';
import type { PaymentStatus, Verdict } from '../common/payment.js';
import type { BillState } from './bill.store.js';
import { Database, NOW, epochMs, inMs, instant, type Texts } from './database.js';

/** The locked bill, as settlement needs it. */
export interface LockedBill {
  readonly id: string;
  readonly shop: string;
  readonly orderId: string;
  readonly attempt: number;
  readonly billId: string;
  readonly state: BillState;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
  readonly custom: string;
  readonly customGiven: boolean;
  readonly checks: number;
  readonly openedAt: Date;
  readonly paidAt: Date | null;
  readonly endedAt: Date | null;
  readonly nextCheckAt: Date | null;
  /** The database's clock at the start of the transaction. */
  readonly now: Date;
}

/** A payment of the ledger. */
export interface LedgerPayment {
  readonly paymentId: string;
  /** Id of our bill. */
  readonly billId: string;
  readonly status: PaymentStatus;
  readonly amount: DecimalAmount | null;
  readonly amountReceived: DecimalAmount | null;
  readonly commission: DecimalAmount | null;
  readonly currency: string | null;
  readonly fromCard: string | null;
  readonly createdAtText: string | null;
  /** `status` as the service sent it. */
  readonly statusText: string | null;
  readonly verdict: Verdict['kind'];
}

export interface NewReview {
  readonly id: string;
  readonly key: string;
  readonly paymentId: string | null;
  readonly reason: string;
  readonly detail: object;
}

export interface NewEvent {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly payload: object;
}

export interface BillChange {
  readonly state: BillState;
  readonly nextCheckAt: Date | null;
  readonly scheduled: boolean;
  readonly minGapMs: number;
}

type Locked = Texts<LockedBill, 'openedAt' | 'paidAt' | 'endedAt' | 'nextCheckAt' | 'now'>;

/** The statements of settling: everything that writes payments, events and reviews is in here. */
@Injectable()
export class SettlementStore {
  constructor(private readonly database: Database) {}

  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /**
   * Locks the bill if the claim still holds; `undefined` makes the answer stale. Without a token (for an operator) it is
   * locked whatever claim there is. The order must be locked before.
   */
  async lockBill(manager: EntityManager, id: string, token?: string): Promise<LockedBill | undefined> {
    const [row] = await this.database.query<Locked>(
      `SELECT id, shop, order_id AS "orderId", attempt, service_bill_id AS "billId", state, amount::text AS amount,
         currency, payer_pays_commission AS "payerPaysCommission", custom, custom_given AS "customGiven", checks,
         ${epochMs('opened_at')} AS "openedAt", ${epochMs('paid_at')} AS "paidAt", ${epochMs('ended_at')} AS "endedAt",
         ${epochMs('next_check_at')} AS "nextCheckAt", ${epochMs(NOW)} AS now
       FROM payment_acceptance.bill WHERE id = $2 AND ($3::uuid IS NULL OR lease_token = $3) FOR UPDATE`,
      [this.database.offsetMs, id, token ?? null],
      manager,
    );
    return (
      row && {
        ...row,
        openedAt: instant(row.openedAt),
        paidAt: instant(row.paidAt),
        endedAt: instant(row.endedAt),
        nextCheckAt: instant(row.nextCheckAt),
        now: instant(row.now),
      }
    );
  }

  /** What the ledger has of this bill, and of these payments under whatever bill. */
  async payments(manager: EntityManager, bill: LockedBill, paymentIds: readonly string[]): Promise<LedgerPayment[]> {
    return this.database.query<LedgerPayment>(
      `SELECT payment_id AS "paymentId", bill_id AS "billId", status, amount::text AS amount,
         amount_received::text AS "amountReceived", commission::text AS commission, currency, from_card AS "fromCard",
         service_created_at AS "createdAtText", service_status AS "statusText", verdict
       FROM payment_acceptance.payment WHERE bill_id = $1 OR (shop = $2 AND payment_id = ANY($3))`,
      [bill.id, bill.shop, paymentIds],
      manager,
    );
  }

  async writePayment(manager: EntityManager, shop: string, payment: LedgerPayment): Promise<void> {
    await this.database.query(
      `INSERT INTO payment_acceptance.payment (shop, payment_id, bill_id, status, amount, amount_received, commission,
         currency, from_card, service_created_at, service_status, verdict, first_seen_at, changed_at)
       VALUES ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, ${NOW}, ${NOW})
       ON CONFLICT (shop, payment_id) DO UPDATE SET status = excluded.status, amount = excluded.amount,
         amount_received = excluded.amount_received, commission = excluded.commission, currency = excluded.currency,
         from_card = excluded.from_card, service_status = excluded.service_status, verdict = excluded.verdict,
         changed_at = CASE WHEN payment.status = excluded.status THEN payment.changed_at ELSE excluded.changed_at END`,
      [
        this.database.offsetMs,
        shop,
        payment.paymentId,
        payment.billId,
        payment.status,
        payment.amount,
        payment.amountReceived,
        payment.commission,
        payment.currency,
        payment.fromCard,
        payment.createdAtText,
        payment.statusText,
        payment.verdict,
      ],
      manager,
    );
  }

  async markOrderPaid(manager: EntityManager, bill: LockedBill, paymentId: string): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.shop_order SET first_payment_id = $4, first_paid_at = ${NOW}
       WHERE shop = $2 AND order_id = $3 AND first_payment_id IS NULL`,
      [this.database.offsetMs, bill.shop, bill.orderId, paymentId],
      manager,
    );
  }

  /** Stores an event with one delivery for each consumer; gives their number, or `undefined` if it existed already. */
  async addEvent(
    manager: EntityManager,
    bill: LockedBill,
    event: NewEvent,
    traceparent: string | null,
  ): Promise<number | undefined> {
    const [added] = await this.database.query<{ seq: string }>(
      `INSERT INTO payment_acceptance.event (id, key, name, shop, bill_id, payload, traceparent, occurred_at)
       VALUES ($2, $3, $4, $5, $6, $7::jsonb, $8, ${NOW}) ON CONFLICT (key) DO NOTHING RETURNING seq::text AS seq`,
      [
        this.database.offsetMs,
        event.id,
        event.key,
        event.name,
        bill.shop,
        bill.id,
        JSON.stringify(event.payload),
        traceparent,
      ],
      manager,
    );
    if (!added) return undefined;
    const deliveries = await this.database.query(
      `INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, bill_id, consumer, state, due_at)
       SELECT $2, $3, $4, $5, c.name, 'PENDING', ${NOW} FROM payment_acceptance.consumer c
       WHERE c.event_name = $3 AND (c.shops IS NULL OR $6 = ANY(c.shops)) RETURNING id`,
      [this.database.offsetMs, event.id, event.name, added.seq, bill.id, bill.shop],
      manager,
    );
    return deliveries.length;
  }

  /** Opens a review once; a review that a person has closed stays closed. */
  async addReview(manager: EntityManager, bill: LockedBill, review: NewReview): Promise<void> {
    await this.database.query(
      `INSERT INTO payment_acceptance.review
         (id, key, shop, order_id, bill_id, payment_id, reason, detail, state, opened_at)
       VALUES ($2, $3, $4, $5, $6, $7, $8, $9::jsonb, 'OPEN', ${NOW}) ON CONFLICT (key) DO NOTHING`,
      [
        this.database.offsetMs,
        review.id,
        review.key,
        bill.shop,
        bill.orderId,
        bill.id,
        review.paymentId,
        review.reason,
        JSON.stringify(review.detail),
      ],
      manager,
    );
  }

  /** Ends a check that was answered: new state, next check, lease given back. */
  async finishCheck(manager: EntityManager, bill: LockedBill, change: BillChange): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.bill SET state = $4, next_check_at = to_timestamp($5::double precision / 1000),
         check_after = ${inMs('$2')}, checks = checks + $6::int, failed_checks = 0, checked_at = ${NOW},
         last_check_error = NULL, lease_token = NULL, lease_until = NULL,
         paid_at = CASE WHEN $4 = 'PAID' THEN coalesce(paid_at, ${NOW}) ELSE paid_at END,
         ended_at = CASE WHEN $4 = state THEN ended_at ELSE ${NOW} END
       WHERE id = $3`,
      [
        this.database.offsetMs,
        change.minGapMs,
        bill.id,
        change.state,
        change.nextCheckAt?.getTime() ?? null,
        change.scheduled ? 1 : 0,
      ],
      manager,
    );
  }
}
