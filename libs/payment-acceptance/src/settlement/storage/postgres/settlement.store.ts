import type { LockedBill, LockedOrder } from '../../../domain/bill.js';
import type { KnownPayment } from '../../../domain/callback.js';
import type { LockedClaim } from '../../../domain/claim.js';
import type { IntentId } from '../../../domain/ids.js';
import {
  confirmedCount,
  knownPayment,
  LOCKED_BILL_READERS,
  lockedBill,
  PAYMENT_ROW_READERS,
  SettlementStore,
  toKnownPayment,
  type ClaimKey,
  type PaymentKey,
  type AddedEvent,
} from '../settlement.store.js';
import { flag, integer, json } from '../../../database/reading.js';
import { sql, type Statement } from '../../../database/statement.js';
import { postgres } from '../../../database/postgres/dialect.js';
import { rowsFromJson, opaque, addMilliseconds, recordSet, ROW_BY_ROW } from '../../../database/postgres/planner.js';
import type { PostgresDatabase } from '../../../database/postgres/postgres.database.js';
import { prepare } from '../../../database/postgres/prepare.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';
import type { Settlement } from '../../../domain/settlement.js';
import { ConcurrentChangeError } from '../../../database/query-errors.js';
import { isPending } from '../../../events/storage/delivery.store.js';

const READ_PAYMENTS = prepare(['intentIds', 'listed'], ({ intentIds, listed }) => {
  const ids = opaque(intentIds, 'uuid[]');
  return sql`SELECT ${knownPayment(postgres)}, ${confirmedCount('SUCCESS')}, ${confirmedCount('FAIL')}
    FROM payment_acceptance.payment p WHERE p.intent_id = ANY(${ids})
    UNION ALL
    SELECT ${knownPayment(postgres)}, 0, 0
    FROM ${rowsFromJson(listed, 'shop text, "paymentId" text')} listed
    JOIN payment_acceptance.payment p ON p.shop = listed.shop AND p.payment_id = listed."paymentId" WHERE p.intent_id <> ALL(${ids})`;
});

const lockClaimed = (orders: Statement, bills: Statement) =>
  prepare(
    ['claims'],
    (
      { claims },
      now,
    ) => sql`WITH claimed AS ${rowsFromJson(claims, '"intentId" uuid, token uuid, shop text, "orderId" text')}, held AS (
        SELECT o.shop, o.order_id, o.first_payment_id, o.cancelled_at IS NOT NULL AS cancelled FROM payment_acceptance.shop_order o
        WHERE (o.shop, o.order_id) IN (SELECT shop, "orderId" FROM claimed) ORDER BY o.shop, o.order_id ${orders}
      )
      SELECT ${lockedBill(postgres, now)}, claimed.token::text AS token,
        held.first_payment_id AS "firstPaymentId", held.cancelled
      FROM claimed JOIN held ON held.shop = claimed.shop AND held.order_id = claimed."orderId"
      JOIN payment_acceptance.bill b ON b.intent_id = claimed."intentId" AND b.lease_token = claimed.token
      ORDER BY b.intent_id ${bills}`,
  );
const LOCK_WAITING = lockClaimed(sql`FOR UPDATE`, sql`FOR UPDATE OF b`);
const LOCK_FREE = lockClaimed(sql`FOR UPDATE SKIP LOCKED`, sql`FOR UPDATE OF b SKIP LOCKED`);

/**
 * Writes everything in one statement. The orders' rows exist, so their INSERT always conflicts: this finds them by key,
 * however small PostgreSQL believes the table to be.
 */
const WRITE_SETTLEMENTS = prepare(
  ['minGapMs', 'payments', 'paid', 'changes', 'consumed', 'events'],
  ({ minGapMs, payments, paid, changes, consumed, events }, now) =>
    sql`WITH payments AS (
        INSERT INTO payment_acceptance.payment (shop, payment_id, intent_id, status, amount, amount_received, commission,
          currency, from_card, service_created_at, service_status, contradiction, verdict, first_seen_at, changed_at)
        SELECT p.*, ${now}, ${now} FROM ${recordSet(payments)} AS p (shop text, "paymentId" text, "intentId" uuid, status text,
          amount numeric, "amountReceived" numeric, commission numeric, currency text, "fromCard" text,
          "createdAtText" text, "statusText" text, contradiction uuid, verdict text) ORDER BY 1, 2
        ON CONFLICT (shop, payment_id) DO UPDATE SET status = excluded.status, amount = excluded.amount,
          amount_received = excluded.amount_received, commission = excluded.commission, currency = excluded.currency,
          from_card = excluded.from_card, service_status = excluded.service_status, contradiction = excluded.contradiction, verdict = excluded.verdict,
          changed_at = CASE WHEN payment.status = excluded.status THEN payment.changed_at ELSE excluded.changed_at END
        WHERE payment.intent_id = excluded.intent_id
        RETURNING payment_id
      ), orders AS (
        INSERT INTO payment_acceptance.shop_order (shop, order_id, first_payment_id)
        SELECT paid.* FROM ${recordSet(paid)} AS paid (shop text, "orderId" text, "paymentId" text)
        ON CONFLICT (shop, order_id) DO UPDATE SET first_payment_id = excluded.first_payment_id
        WHERE shop_order.first_payment_id IS NULL
      ), bills AS (
        UPDATE payment_acceptance.bill b SET state = checked.state,
          next_check_at = checked."nextCheckAt", check_after = ${addMilliseconds(now, minGapMs)},
          checks = b.checks + checked.scheduled::int, failed_checks = CASE WHEN checked.answered THEN 0 ELSE b.failed_checks END,
          checked_at = CASE WHEN checked.answered THEN ${now} ELSE b.checked_at END,
          last_check_error = CASE WHEN NOT checked.answered THEN b.last_check_error END,
          lease_token = NULL, lease_until = NULL,
          paid_at = CASE WHEN checked.state = 'PAID' THEN coalesce(b.paid_at, ${now}) ELSE b.paid_at END,
          ended_at = CASE WHEN checked.state = b.state THEN b.ended_at ELSE ${now} END
        FROM ${rowsFromJson(changes, '"intentId" uuid, state text, "nextCheckAt" timestamptz, scheduled boolean, answered boolean')} checked
        WHERE b.intent_id = checked."intentId"
      ), hints AS (
        UPDATE payment_acceptance.callback c SET pending = false, consumed_at = ${now}, outcome = answered.outcome
        FROM ${rowsFromJson(consumed, 'id uuid, outcome text')} answered
        WHERE c.id = answered.id
      ), added AS (
        INSERT INTO payment_acceptance.event (id, key, name, shop, intent_id, payload, traceparent, asserted_at, occurred_at)
        SELECT e.id, e.key, e.name, e.shop, e."intentId", e.payload, e.traceparent, e."assertedAt", ${now} FROM ${recordSet(events)}
          AS e (turn int, id uuid, key text, name text, shop text, "intentId" uuid, payload jsonb, traceparent text,
            "assertedAt" timestamptz)
        ORDER BY e.turn
        ON CONFLICT (key) DO NOTHING RETURNING id, seq, name, shop, intent_id
      ), deliveries AS (
        INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, due_at, behind)
        SELECT n.id, n.name, n.seq, n.intent_id, n.consumer, 'PENDING', ${now},
          n.turn > 1 OR EXISTS (SELECT 1 FROM payment_acceptance.delivery earlier WHERE ${isPending('earlier.state')}
            AND earlier.intent_id = n.intent_id AND earlier.consumer = n.consumer ${ROW_BY_ROW})
        FROM (
          SELECT added.*, c.name AS consumer, row_number() OVER (PARTITION BY added.intent_id, c.name ORDER BY added.seq) AS turn
          FROM added JOIN payment_acceptance.consumer c
            ON c.event_name = added.name AND (c.shops IS NULL OR added.shop = ANY(c.shops))) n
        ORDER BY n.seq
        RETURNING event_id, consumer, behind
      )
      SELECT (SELECT count(*) FROM payments) AS payments, coalesce((SELECT json_agg(json_build_object(
        'id', each.id, 'deliveries', each.deliveries, 'behind', each.behind)) FROM (
          SELECT added.id, count(d.consumer) AS deliveries,
            coalesce(array_agg(d.consumer) FILTER (WHERE d.behind), '{}') AS behind
          FROM added LEFT JOIN deliveries d ON d.event_id = added.id GROUP BY added.id) each), '[]')::text
        AS added`,
);

interface Written {
  /** How many payments still belong to the bill they were decided for. */
  readonly payments: number;
  readonly added: readonly AddedEvent[];
}

export class PostgresSettlementStore extends SettlementStore<PostgresDatabase> {
  protected override async lockClaimed(
    tx: OwnTransaction,
    claims: readonly ClaimKey[],
    wait: boolean,
  ): Promise<LockedClaim[]> {
    const rows = await this.database.execute<LockedBill & LockedOrder & { token: string }, 'claims'>(
      wait ? LOCK_WAITING : LOCK_FREE,
      {
        claims: JSON.stringify(
          claims.map(({ intentId, token, shop, orderId }) => ({ intentId, token, shop, orderId })),
        ),
      },
      { ...LOCKED_BILL_READERS, cancelled: flag },
      tx,
    );
    return rows.map(({ token, firstPaymentId, cancelled, ...bill }) => ({
      bill,
      token,
      order: { firstPaymentId, cancelled },
    }));
  }

  override async payments(
    tx: OwnTransaction,
    intentIds: readonly IntentId[],
    listed: readonly PaymentKey[],
  ): Promise<KnownPayment[]> {
    const parameters = { intentIds, listed: JSON.stringify(listed) };
    return (await this.database.execute(READ_PAYMENTS, parameters, PAYMENT_ROW_READERS, tx)).map(toKnownPayment);
  }

  override async write(
    tx: OwnTransaction,
    settlements: readonly Settlement[],
    minGapMs: number,
  ): Promise<readonly AddedEvent[]> {
    await this.openReviews(tx, settlements);
    const [result] = await this.database.execute<Written, keyof ReturnType<typeof records> | 'minGapMs'>(
      WRITE_SETTLEMENTS,
      { minGapMs, ...records(settlements) },
      { payments: integer, added: json },
      tx,
    );
    const payments = settlements.reduce((sum, settlement) => sum + settlement.payments.length, 0);
    if (!result || result.payments < payments)
      throw new ConcurrentChangeError('A payment was concurrently assigned to another bill.');
    return result.added;
  }

  private async openReviews(tx: OwnTransaction, settlements: readonly Settlement[]): Promise<void> {
    const reviews = settlements.flatMap(({ bill: { shop, orderId, intentId }, reviews: newReviews }) =>
      newReviews.map((review) => ({ ...review, shop, orderId, intentId })),
    );
    if (reviews.length === 0) return;
    await tx.change`INSERT INTO payment_acceptance.review
        (id, key, shop, order_id, intent_id, payment_id, reason, detail, state, opened_at)
      SELECT r.*, 'OPEN', ${this.database.now()}
      FROM ${recordSet(sql`${JSON.stringify(reviews)}`)} AS r (id uuid, key text, shop text, "orderId" text,
        "intentId" uuid, "paymentId" text, reason text, detail jsonb) ON CONFLICT (key) DO NOTHING`;
  }
}

function records(settlements: readonly Settlement[]) {
  const payments = settlements.flatMap(({ bill: { shop }, payments: billPayments }) =>
    billPayments.map((payment) => ({ ...payment, shop })),
  );
  const paid = settlements.flatMap(({ bill: { shop, orderId }, firstPaymentId: paymentId }) =>
    paymentId === null ? [] : { shop, orderId, paymentId },
  );
  const changes = settlements.flatMap(({ bill: { intentId }, change }) => (change ? { intentId, ...change } : []));
  const events = settlements
    .flatMap(({ bill: { shop, intentId }, traceparent, assertedAt, events: billEvents }) =>
      billEvents.map((event) => ({ ...event, shop, intentId, traceparent, assertedAt })),
    )
    .map((event, turn) => ({ ...event, turn }));
  return {
    payments: JSON.stringify(payments),
    paid: JSON.stringify(paid),
    changes: JSON.stringify(changes),
    consumed: JSON.stringify(settlements.flatMap(({ hints }) => hints.consumed)),
    events: JSON.stringify(events),
  };
}
