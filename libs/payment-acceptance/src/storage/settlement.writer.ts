import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { LockedBill } from '../domain/bill.js';
import type { NewReview, Settlement } from '../domain/settlement.js';
import { Database } from './database.js';
import { NOW, columns, inMs, rowsOf } from './sql.js';

/** See `SettlementWriter.write`. */
const WRITE = `WITH payments AS (
    INSERT INTO payment_acceptance.payment (shop, payment_id, bill_id, status, amount, amount_received, commission,
      currency, from_card, service_created_at, service_status, verdict, first_seen_at, changed_at)
    SELECT p.*, ${NOW}, ${NOW} FROM ${columns(3, 'text', 'text', 'uuid', 'text', 'numeric', 'numeric', 'numeric', 'text', 'text', 'text', 'text', 'text')} AS p (shop, payment_id) ORDER BY 1, 2
    ON CONFLICT (shop, payment_id) DO UPDATE SET status = excluded.status, amount = excluded.amount,
      amount_received = excluded.amount_received, commission = excluded.commission, currency = excluded.currency,
      from_card = excluded.from_card, service_status = excluded.service_status, verdict = excluded.verdict,
      changed_at = CASE WHEN payment.status = excluded.status THEN payment.changed_at ELSE excluded.changed_at END
  ), orders AS (
    INSERT INTO payment_acceptance.shop_order (shop, order_id, first_payment_id, first_paid_at)
    SELECT paid.*, ${NOW} FROM ${columns(15, 'text', 'text', 'text')} AS paid (shop, order_id, payment_id)
    ON CONFLICT (shop, order_id) DO UPDATE SET first_payment_id = excluded.first_payment_id,
      first_paid_at = excluded.first_paid_at WHERE shop_order.first_payment_id IS NULL
  ), bills AS (
    UPDATE payment_acceptance.bill b SET state = ended.state,
      next_check_at = to_timestamp(ended.next_check_ms / 1000), check_after = ${inMs('$2')},
      checks = b.checks + ended.scheduled::int, failed_checks = 0, checked_at = ${NOW}, last_check_error = NULL,
      lease_token = NULL, lease_until = NULL,
      paid_at = CASE WHEN ended.state = 'PAID' THEN coalesce(b.paid_at, ${NOW}) ELSE b.paid_at END,
      ended_at = CASE WHEN ended.state = b.state THEN b.ended_at ELSE ${NOW} END
    FROM ${rowsOf(18, 'uuid', 'text', 'float8', 'boolean')}
      AS ended (id, state, next_check_ms, scheduled) WHERE b.id = ended.id
  ), hints AS (
    UPDATE payment_acceptance.callback c SET pending = false, consumed_at = ${NOW}, outcome = answered.outcome
    FROM ${rowsOf(22, 'uuid', 'text')} AS answered (id, outcome) WHERE c.id = answered.id
  ), added AS (
    INSERT INTO payment_acceptance.event (id, key, name, shop, bill_id, payload, traceparent, occurred_at)
    SELECT e.id, e.key, e.name, e.shop, e.bill_id, e.payload::jsonb, e.traceparent, ${NOW}
    FROM ${columns(24, 'uuid', 'text', 'text', 'text', 'uuid', 'text', 'text')}
      WITH ORDINALITY AS e (id, key, name, shop, bill_id, payload, traceparent, turn) ORDER BY e.turn
    ON CONFLICT (key) DO NOTHING RETURNING id, seq, name, shop, bill_id
  ), deliveries AS (
    INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, bill_id, consumer, state, due_at)
    SELECT added.id, added.name, added.seq, added.bill_id, c.name, 'PENDING', ${NOW}
    FROM added JOIN payment_acceptance.consumer c
      ON c.event_name = added.name AND (c.shops IS NULL OR added.shop = ANY(c.shops)) ORDER BY added.seq
    RETURNING event_id
  )
  SELECT added.id, (SELECT count(*)::int FROM deliveries WHERE event_id = added.id) AS deliveries FROM added`;

/** The statements that write what a settlement has decided: everything that writes payments, events and reviews is in here. */
@Injectable()
export class SettlementWriter {
  constructor(private readonly database: Database) {}

  /**
   * Writes what was decided, of any number of bills. The row of an order is there; as a conflict it is found by its key,
   * however small PostgreSQL believes the table. Gives the events that are new, with the number of consumers that each
   * has a delivery for.
   */
  async write(
    manager: EntityManager,
    settlements: readonly Settlement[],
    minGapMs: number,
  ): Promise<{ id: string; deliveries: number }[]> {
    const reviews = settlements.flatMap(({ bill, reviews: opened }) => opened.map((review) => ({ bill, ...review })));
    if (reviews.length > 0) await this.addReviews(manager, reviews);
    const payments = settlements.flatMap(({ bill, payments: of }) => of.map((payment) => ({ bill, ...payment })));
    const paid = settlements.filter(({ firstPaymentId }) => firstPaymentId !== null);
    const events = settlements.flatMap(({ bill, traceparent, events: of }) =>
      of.map((event) => ({ bill, traceparent, ...event })),
    );
    const changes = settlements.flatMap(({ bill, change }) => (change ? { bill, ...change } : []));
    const consumed = settlements.flatMap(({ hints }) => hints.consumed);
    return this.database.prepared(
      WRITE,
      [
        this.database.offsetMs,
        minGapMs,
        payments.map(({ bill }) => bill.shop),
        payments.map(({ paymentId }) => paymentId),
        payments.map(({ intentId }) => intentId),
        payments.map(({ status }) => status),
        payments.map(({ amount }) => amount),
        payments.map(({ amountReceived }) => amountReceived),
        payments.map(({ commission }) => commission),
        payments.map(({ currency }) => currency),
        payments.map(({ fromCard }) => fromCard),
        payments.map(({ createdAtText }) => createdAtText),
        payments.map(({ statusText }) => statusText),
        payments.map(({ verdict }) => verdict),
        paid.map(({ bill }) => bill.shop),
        paid.map(({ bill }) => bill.orderId),
        paid.map(({ firstPaymentId }) => firstPaymentId),
        changes.map(({ bill }) => bill.intentId),
        changes.map(({ state }) => state),
        changes.map(({ nextCheckAt }) => nextCheckAt?.getTime() ?? null),
        changes.map(({ scheduled }) => scheduled),
        consumed.map(({ id }) => id),
        consumed.map(({ outcome }) => outcome),
        events.map(({ id }) => id),
        events.map(({ key }) => key),
        events.map(({ name }) => name),
        events.map(({ bill }) => bill.shop),
        events.map(({ bill }) => bill.intentId),
        events.map(({ payload }) => JSON.stringify(payload)),
        events.map(({ traceparent }) => traceparent),
      ],
      manager,
    );
  }

  /** Opens each review once; one that a person has closed stays closed. */
  private async addReviews(
    manager: EntityManager,
    reviews: readonly (NewReview & { readonly bill: LockedBill })[],
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO payment_acceptance.review
         (id, key, shop, order_id, bill_id, payment_id, reason, detail, state, opened_at)
       SELECT r.id, r.key, r.shop, r.order_id, r.bill_id, r.payment_id, r.reason, r.detail::jsonb, 'OPEN', ${NOW}
       FROM unnest($2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::text[], $9::text[])
         AS r (id, key, shop, order_id, bill_id, payment_id, reason, detail) ON CONFLICT (key) DO NOTHING`,
      [
        this.database.offsetMs,
        reviews.map(({ id }) => id),
        reviews.map(({ key }) => key),
        reviews.map(({ bill }) => bill.shop),
        reviews.map(({ bill }) => bill.orderId),
        reviews.map(({ bill }) => bill.intentId),
        reviews.map(({ paymentId }) => paymentId),
        reviews.map(({ reason }) => reason),
        reviews.map(({ detail }) => JSON.stringify(detail)),
      ],
      manager,
    );
  }
}
