import type { LockedBill, LockedOrder } from '../../../domain/bill.js';
import type { KnownPayment } from '../../../domain/callback.js';
import type { LockedClaim } from '../../../domain/claim.js';
import type { IntentId, OrderId } from '../../../domain/ids.js';
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
  type PaymentRow,
  type AddedEvent,
} from '../settlement.store.js';
import { inPieces } from '../../../common/pieces.js';
import { flag } from '../../../database/reading.js';
import { join, sql, type Statement } from '../../../database/statement.js';
import { mariadb } from '../../../database/mariadb/dialect.js';
import type { MariaDatabase } from '../../../database/mariadb/maria.database.js';
import type { OwnTransaction } from '../../../database/own-transaction.js';
import type { NewEvent, Settlement } from '../../../domain/settlement.js';
import { ConcurrentChangeError, isUniqueViolation } from '../../../database/query-errors.js';
import { MariaCheckStore } from './check.store.js';

interface HeldOrder extends LockedOrder {
  readonly shop: string;
  readonly orderId: OrderId;
}

export class MariaSettlementStore extends SettlementStore<MariaDatabase> {
  private readonly checks = new MariaCheckStore(this.database);

  /** By primary key: any other access path would lock the rows that it passes. */
  protected override async lockClaimed(
    tx: OwnTransaction,
    claims: readonly ClaimKey[],
    wait: boolean,
  ): Promise<LockedClaim[]> {
    if (claims.length === 0) return [];
    const lock = wait ? sql`FOR UPDATE` : sql`FOR UPDATE SKIP LOCKED`;
    const pair = (first: string, second: string): string => `${first} ${second}`;
    const keys = claims.map(({ shop, orderId }) => sql`(${shop}, ${orderId})`);
    const orders = await tx.rows<HeldOrder>({ cancelled: flag })`
      SELECT o.shop, o.order_id AS "orderId", o.first_payment_id AS "firstPaymentId",
        o.cancelled_at IS NOT NULL AS cancelled
      FROM payment_acceptance.shop_order o FORCE INDEX (PRIMARY)
      WHERE (o.shop, o.order_id) IN (${join(keys, ', ')}) ORDER BY o.shop, o.order_id ${lock}`;
    const held = new Map(orders.map(({ shop, orderId, ...order }) => [pair(shop, orderId), order]));
    const lockedClaims = claims.filter(({ shop, orderId }) => held.has(pair(shop, orderId)));
    const claimed = new Set(lockedClaims.map(({ intentId, token }) => pair(intentId, token)));
    const ids = [...new Set(lockedClaims.map(({ intentId }) => intentId))];
    const rows = await tx.rows<LockedBill & { token: string | null }>(LOCKED_BILL_READERS)`
      SELECT ${lockedBill(mariadb, this.database.now())}, b.lease_token AS token
      FROM payment_acceptance.bill b FORCE INDEX (PRIMARY) WHERE b.intent_id ${mariadb.oneOf(ids, 'uuid')} ORDER BY b.intent_id ${lock}`;
    return rows.flatMap(({ token, ...bill }) => {
      const order = held.get(pair(bill.shop, bill.orderId));
      return order && token !== null && claimed.has(pair(bill.intentId, token)) ? [{ bill, token, order }] : [];
    });
  }

  override async payments(
    tx: OwnTransaction,
    intentIds: readonly IntentId[],
    listed: readonly PaymentKey[],
  ): Promise<KnownPayment[]> {
    const rows = await tx.rows<PaymentRow>(PAYMENT_ROW_READERS)`
      SELECT ${knownPayment(mariadb)}, ${confirmedCount('SUCCESS')}, ${confirmedCount('FAIL')}
      FROM payment_acceptance.payment p WHERE p.intent_id ${mariadb.oneOf(intentIds, 'uuid')}`;
    const payments = rows.map(toKnownPayment);
    for (const piece of inPieces(listed)) {
      const keys = piece.map(({ shop, paymentId }) => sql`(${shop}, ${paymentId})`);
      const paymentsOfOtherBills = await tx.rows<PaymentRow>(PAYMENT_ROW_READERS)`
        SELECT ${knownPayment(mariadb)}, 0 AS "SUCCESS", 0 AS "FAIL" FROM payment_acceptance.payment p
        WHERE (p.shop, p.payment_id) IN (${join(keys, ', ')}) AND p.intent_id ${mariadb.noneOf(intentIds, 'uuid')}`;
      for (const row of paymentsOfOtherBills) payments.push(toKnownPayment(row));
    }
    return payments;
  }

  override async write(
    tx: OwnTransaction,
    settlements: readonly Settlement[],
    minGapMs: number,
  ): Promise<readonly AddedEvent[]> {
    const now = await this.readNow(tx);
    await this.openReviews(tx, settlements, now);
    await this.upsertPayments(tx, settlements, now);
    for (const { bill, firstPaymentId } of settlements) {
      if (firstPaymentId !== null) {
        await tx.change`UPDATE payment_acceptance.shop_order SET first_payment_id = ${firstPaymentId}
          WHERE shop = ${bill.shop} AND order_id = ${bill.orderId} AND first_payment_id IS NULL`;
      }
    }
    for (const settlement of settlements) await this.endCheck(tx, settlement, minGapMs, now);
    const consumed = settlements.flatMap(({ hints }) => hints.consumed);
    await this.checks.answerHints({ consumed, postponed: [] }, tx);
    const events = settlements.flatMap((settlement) => settlement.events.map((event) => ({ ...settlement, ...event })));
    const added: AddedEvent[] = [];
    for (const piece of inPieces(events)) added.push(...(await this.addEvents(tx, piece, now)));
    return added;
  }

  private async openReviews(tx: OwnTransaction, settlements: readonly Settlement[], now: Statement): Promise<void> {
    const reviews = settlements.flatMap(({ bill, reviews: opened }) => opened.map((review) => ({ bill, ...review })));
    if (reviews.length === 0) return;
    for (const piece of inPieces(reviews.sort(compareBy(({ key }) => [key])))) {
      const rows = piece.map(
        ({ id, key, bill, paymentId, reason, detail }) =>
          sql`(${id}, ${key}, ${bill.shop}, ${bill.orderId}, ${bill.intentId}, ${paymentId}, ${reason},
            ${JSON.stringify(detail)}, 'OPEN', ${now})`,
      );
      await tx.change`INSERT INTO payment_acceptance.review
          (id, \`key\`, shop, order_id, intent_id, payment_id, reason, detail, state, opened_at) VALUES ${join(rows, ', ')}
        ${mariadb.ignoreExisting('id')}`;
    }
  }

  /** Sets `changed_at` first: MariaDB evaluates assignments in order, and `changed_at` needs the old status. */
  private async upsertPayments(tx: OwnTransaction, settlements: readonly Settlement[], now: Statement): Promise<void> {
    const payments = settlements.flatMap(({ bill, payments: billPayments }) =>
      billPayments.map((payment) => ({ shop: bill.shop, ...payment })),
    );
    let ownCount = 0;
    for (const piece of inPieces(payments.sort(compareBy(({ shop, paymentId }) => [shop, paymentId])))) {
      const rows = piece.map(
        (p) =>
          sql`(${p.shop}, ${p.paymentId}, ${p.intentId}, ${p.status}, ${p.amount}, ${p.amountReceived}, ${p.commission},
            ${p.currency}, ${p.fromCard}, ${p.createdAtText}, ${p.statusText}, ${p.contradiction}, ${p.verdict}, ${now}, ${now})`,
      );
      await tx.change`
        INSERT INTO payment_acceptance.payment (shop, payment_id, intent_id, status, amount, amount_received, commission,
          currency, from_card, service_created_at, service_status, contradiction, verdict, first_seen_at, changed_at)
        VALUES ${join(rows, ', ')}
        ON DUPLICATE KEY UPDATE changed_at = CASE WHEN status = VALUES(status) THEN changed_at ELSE VALUES(changed_at) END,
          status = VALUES(status), amount = VALUES(amount), amount_received = VALUES(amount_received),
          commission = VALUES(commission), currency = VALUES(currency), from_card = VALUES(from_card),
          service_status = VALUES(service_status), contradiction = VALUES(contradiction), verdict = VALUES(verdict)`;
      const keys = piece.map(({ shop, paymentId, intentId }) => sql`(${shop}, ${paymentId}, ${intentId})`);
      ownCount += await tx.count`
        SELECT count(*) AS count FROM payment_acceptance.payment
        WHERE (shop, payment_id, intent_id) IN (${join(keys, ', ')})`;
    }
    if (ownCount !== payments.length) {
      throw new ConcurrentChangeError('A payment was concurrently assigned to another bill.');
    }
  }

  /** Sets `state` last: MariaDB evaluates assignments in order, and `ended_at` needs the old state. */
  private async endCheck(
    tx: OwnTransaction,
    { bill, change }: Settlement,
    minGapMs: number,
    now: Statement,
  ): Promise<void> {
    if (!change) return;
    const { state, scheduled, nextCheckAt, answered } = change;
    await tx.change`UPDATE payment_acceptance.bill
      SET next_check_at = ${nextCheckAt && mariadb.instant(nextCheckAt.getTime())},
        check_after = ${now} + INTERVAL 1000 * ${minGapMs} MICROSECOND, checks = checks + ${scheduled ? 1 : 0},
        ${answered ? sql`failed_checks = 0, checked_at = ${now}, last_check_error = NULL,` : sql``} lease_token = NULL, lease_until = NULL,
        paid_at = ${state === 'PAID' ? sql`coalesce(paid_at, ${now})` : sql`paid_at`},
        ended_at = CASE WHEN state = ${state} THEN ended_at ELSE ${now} END, state = ${state}
      WHERE intent_id = ${bill.intentId}`;
  }

  /** Adds the events that do not exist yet, in the given order, with their deliveries. */
  private async addEvents(
    tx: OwnTransaction,
    events: readonly (Settlement & NewEvent)[],
    now: Statement,
  ): Promise<AddedEvent[]> {
    const existingEvents = await tx.rows<{ key: string }>({})`
      SELECT \`key\` FROM payment_acceptance.event WHERE \`key\` IN (${events.map(({ key }) => key)})`;
    const before = new Set(existingEvents.map(({ key }) => key));
    const newEvents = events.filter(({ key }) => !before.has(key));
    if (newEvents.length === 0) return [];
    const rows = newEvents.map(
      ({ id, key, name, bill, payload, traceparent, assertedAt }) =>
        sql`(${id}, ${key}, ${name}, ${bill.shop}, ${bill.intentId}, ${JSON.stringify(payload)}, ${traceparent},
           ${assertedAt && mariadb.instant(assertedAt.getTime())}, ${now})`,
    );
    try {
      await tx.change`
        INSERT INTO payment_acceptance.event (id, \`key\`, name, shop, intent_id, payload, traceparent, asserted_at,
        occurred_at) VALUES ${join(rows, ', ')}`;
    } catch (error) {
      // The transaction that was quicker has committed by now: a repetition of this one finds the event.
      throw isUniqueViolation(error) ? new ConcurrentChangeError('An event was concurrently added.') : error;
    }
    const ids = newEvents.map(({ id }) => id);
    const deliveries = await tx.rows<NewDelivery>({ behind: flag })`
      INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, due_at, behind)
      SELECT n.id, n.name, n.seq, n.intent_id, n.consumer, 'PENDING', ${now}, n.turn > 1 OR EXISTS (
          SELECT 1 FROM payment_acceptance.delivery earlier WHERE earlier.state = 'PENDING'
            AND earlier.intent_id = n.intent_id AND earlier.consumer = n.consumer)
      FROM (
        SELECT e.id, e.name, e.seq, e.intent_id, c.name AS consumer,
          ROW_NUMBER() OVER (PARTITION BY e.intent_id, c.name ORDER BY e.seq) AS turn
        FROM payment_acceptance.event e JOIN payment_acceptance.consumer c ON c.event_name = e.name
          AND (c.shops IS NULL OR JSON_CONTAINS(c.shops, JSON_QUOTE(e.shop))) WHERE e.id ${mariadb.oneOf(ids, 'uuid')}) n
      ORDER BY n.seq
      RETURNING event_id AS "eventId", consumer, behind`;
    const byEvent = new Map(ids.map((id) => [id, [] as typeof deliveries]));
    for (const delivery of deliveries) byEvent.get(delivery.eventId)?.push(delivery);
    return Array.from(byEvent, ([id, eventDeliveries]) => ({
      id,
      deliveries: eventDeliveries.length,
      behind: eventDeliveries.flatMap(({ behind, consumer }) => (behind ? consumer : [])),
    }));
  }

  /**
   * Read once, so that everything a settlement writes has the same timestamp, as with PostgreSQL's single statement.
   * Otherwise the settlement's records would sometimes sort in another order.
   */
  private async readNow(tx: OwnTransaction): Promise<Statement> {
    const present = this.database.now();
    const [row] = await tx.rows<{ now: string }>({})`SELECT ${mariadb.text(present)} AS now`;
    return row ? sql`CAST(${row.now} AS DATETIME(6))` : present;
  }
}

interface NewDelivery {
  readonly eventId: string;
  readonly consumer: string;
  readonly behind: boolean;
}

/** All instances must write in the same order. */
function compareBy<T>(keysOf: (one: T) => readonly string[]): (a: T, b: T) => number {
  const key = (row: T): string => keysOf(row).join('\0');
  return (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
}
