import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { DecimalAmount } from '../common/money.js';
import type { PaymentStatus, Verdict } from '../common/payment.js';
import type { BillState } from './bill.store.js';
import { Database, NOW, epochMs, inMs, instant } from './database.js';

/** A bill this instance may ask the service about, until another claim replaces its token. */
export interface ClaimedBill {
  readonly id: string;
  readonly shop: string;
  readonly orderId: string;
  readonly billId: string;
  readonly token: string;
  /** Due by its schedule, not only hinted at. */
  readonly scheduled: boolean;
  readonly failedChecks: number;
  readonly state: BillState;
  readonly openedAt: Date;
  readonly paidAt: Date | null;
  readonly endedAt: Date | null;
  /** The database's clock at the claim. */
  readonly now: Date;
  /** The callbacks that the coming check answers: those committed before it was asked. */
  readonly hints: readonly string[];
}

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

type Texts<T, K extends keyof T> = Omit<T, K> & { readonly [P in K]: string | Extract<T[P], null> };
type Claimed = Texts<Omit<ClaimedBill, 'hints'>, 'openedAt' | 'paidAt' | 'endedAt' | 'now'>;
type Locked = Texts<LockedBill, 'openedAt' | 'paidAt' | 'endedAt' | 'nextCheckAt' | 'now'>;

const HINTS_PER_CLAIM = 5_000;

/** The statements of checking and settling. Everything that writes payments, events and reviews is in here. */
@Injectable()
export class SettlementStore {
  constructor(private readonly database: Database) {}

  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /**
   * Leases due bills: hinted and scheduled ones in turns, by lot where only one can go, so that neither starves the other. A fresh token makes every
   * answer to an earlier claim stale.
   */
  async claim(limit: number, leaseMs: number, token: string): Promise<ClaimedBill[]> {
    const free = `(b.lease_until IS NULL OR b.lease_until < ${NOW}) AND b.check_after <= ${NOW}`;
    const bills = await this.database.claim<Claimed>(
      `WITH scheduled AS (
         SELECT b.id, row_number() OVER (ORDER BY b.next_check_at) AS turn FROM payment_acceptance.bill b
         WHERE b.next_check_at <= ${NOW} AND b.service_bill_id IS NOT NULL AND ${free} ORDER BY b.next_check_at LIMIT $3
       ), hinted AS (
         SELECT h.id, row_number() OVER (ORDER BY h.first) AS turn FROM (
           SELECT b.id, min(c.received_at) AS first FROM payment_acceptance.callback c
           JOIN payment_acceptance.bill b ON b.id = c.bill_id
           WHERE c.pending AND c.bill_id IS NOT NULL AND b.service_bill_id IS NOT NULL AND ${free}
           GROUP BY b.id ORDER BY first LIMIT $3) h
       ), due AS (
         SELECT id, min(turn) AS turn FROM (SELECT * FROM scheduled UNION ALL SELECT * FROM hinted) every GROUP BY id
       ), taken AS (
         SELECT b.id, b.next_check_at <= ${NOW} AS scheduled FROM payment_acceptance.bill b JOIN due USING (id)
         WHERE ${free} ORDER BY due.turn, md5(b.id::text || $4::text) LIMIT $3 FOR UPDATE OF b SKIP LOCKED
       )
       UPDATE payment_acceptance.bill b SET lease_token = $4::uuid, lease_until = ${inMs('$2')}
       FROM taken WHERE b.id = taken.id
       RETURNING b.id, b.shop, b.order_id AS "orderId", b.service_bill_id AS "billId", b.lease_token AS token,
         coalesce(taken.scheduled, false) AS scheduled, b.failed_checks AS "failedChecks", b.state,
         ${epochMs('b.opened_at')} AS "openedAt", ${epochMs('b.paid_at')} AS "paidAt",
         ${epochMs('b.ended_at')} AS "endedAt", ${epochMs(NOW)} AS now`,
      [this.database.offsetMs, leaseMs, limit, token],
    );
    if (bills.length === 0) return [];
    const hints = await this.database.query<{ id: string; billId: string }>(
      `SELECT id, bill_id AS "billId" FROM payment_acceptance.callback
       WHERE pending AND bill_id = ANY($1::uuid[]) LIMIT $2`,
      [bills.map(({ id }) => id), HINTS_PER_CLAIM],
    );
    return bills.map((bill) => ({
      ...bill,
      openedAt: instant(bill.openedAt),
      paidAt: instant(bill.paidAt),
      endedAt: instant(bill.endedAt),
      now: instant(bill.now),
      hints: hints.filter(({ billId }) => billId === bill.id).map(({ id }) => id),
    }));
  }

  /** Locks the bill if the claim still holds; `undefined` makes the answer stale. The order must be locked before. */
  async lockBill(manager: EntityManager, id: string, token: string): Promise<LockedBill | undefined> {
    const [row] = await this.database.query<Locked>(
      `SELECT id, shop, order_id AS "orderId", attempt, service_bill_id AS "billId", state, amount::text AS amount,
         currency, payer_pays_commission AS "payerPaysCommission", custom, custom_given AS "customGiven", checks,
         ${epochMs('opened_at')} AS "openedAt", ${epochMs('paid_at')} AS "paidAt", ${epochMs('ended_at')} AS "endedAt",
         ${epochMs('next_check_at')} AS "nextCheckAt", ${epochMs(NOW)} AS now
       FROM payment_acceptance.bill WHERE id = $2 AND lease_token = $3 FOR UPDATE`,
      [this.database.offsetMs, id, token],
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
         from_card = excluded.from_card, service_status = excluded.service_status, verdict = excluded.verdict, changed_at = excluded.changed_at`,
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
  async addEvent(manager: EntityManager, bill: LockedBill, event: NewEvent): Promise<number | undefined> {
    const [added] = await this.database.query<{ seq: string }>(
      `INSERT INTO payment_acceptance.event (id, key, name, shop, bill_id, payload, occurred_at)
       VALUES ($2, $3, $4, $5, $6, $7::jsonb, ${NOW}) ON CONFLICT (key) DO NOTHING RETURNING seq::text AS seq`,
      [this.database.offsetMs, event.id, event.key, event.name, bill.shop, bill.id, JSON.stringify(event.payload)],
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

  /** The callbacks have had their check. Later ones stay pending, and cause another. */
  async consumeHints(hints: readonly string[], manager?: EntityManager): Promise<void> {
    if (hints.length === 0) return;
    await this.database.query(
      `UPDATE payment_acceptance.callback SET pending = false, consumed_at = ${NOW} WHERE id = ANY($2::uuid[])`,
      [this.database.offsetMs, hints],
      manager,
    );
  }

  /**
   * Ends a check without an answer. The bill comes again after the pause, its hints still pending; `nextCheckAt` is its
   * new place in the schedule, `undefined` where that stays as it is.
   */
  async failCheck(
    claim: ClaimedBill,
    pauseMs: number,
    nextCheckAt: Date | null | undefined,
    error: string,
  ): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.bill SET lease_token = NULL, lease_until = NULL, failed_checks = failed_checks + 1,
         check_after = ${inMs('$2')}, last_check_error = $5,
         next_check_at = CASE WHEN $6 THEN to_timestamp($7::double precision / 1000) ELSE next_check_at END
       WHERE id = $3 AND lease_token = $4`,
      [
        this.database.offsetMs,
        pauseMs,
        claim.id,
        claim.token,
        error,
        nextCheckAt !== undefined,
        nextCheckAt?.getTime() ?? null,
      ],
    );
  }

  /** Gives a claim back unused. */
  async release(claim: ClaimedBill): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.bill SET lease_token = NULL, lease_until = NULL WHERE id = $1 AND lease_token = $2`,
      [claim.id, claim.token],
    );
  }
}
