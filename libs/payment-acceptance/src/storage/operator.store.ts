import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { databaseText } from '../common/text.js';
import { ACCEPTED_ELSEWHERE } from './callback.store.js';
import { Database } from './database.js';
import { NOW, inMs, iso } from './sql.js';
import { inScope, type ShopScope } from './scope.js';
import type { BillId, DeliveryId, IntentId, OrderId, PaymentId } from '../domain/ids.js';

/** Which dead letters to send again; what is left out is any. */
export interface DeadLetterFilter {
  readonly deliveryId?: DeliveryId;
  readonly consumer?: string;
  readonly event?: string;
  readonly shop?: string;
  readonly orderId?: OrderId;
}

export interface DeadLetter {
  readonly deliveryId: DeliveryId;
  readonly consumer: string;
  readonly event: string;
  readonly eventId: string;
  readonly shop: string;
  readonly orderId: OrderId;
  readonly attempts: number;
  readonly lastError: string | null;
}

/** A review as an operator closes it. */
export interface ReviewRow {
  readonly id: string;
  readonly shop: string;
  readonly orderId: OrderId;
  readonly intentId: IntentId;
  readonly paymentId: PaymentId | null;
  readonly reason: string;
  readonly state: 'OPEN' | 'ACCEPTED' | 'DISMISSED';
  /** What the service listed, as JSON. */
  readonly detail: string;
}

/** A review of a payment. */
export type PaymentReview = Pick<ReviewRow, 'id' | 'reason' | 'state' | 'detail'>;

/** Counts and ages that tell whether somebody has to look. */
export interface PaymentStats {
  readonly unknownBills: number;
  readonly openReviews: number;
  readonly deadLetters: number;
  readonly pendingDeliveries: number;
  /** Age of the oldest pending delivery and of the longest overdue check, in milliseconds. */
  readonly oldestDeliveryMs: number | null;
  readonly oldestCheckMs: number | null;
  readonly waitingCallbacks: number;
}

export interface ShopState {
  readonly shop: string;
  /** Since when the service refuses the shop, ISO 8601; `null` where it does not. */
  readonly refusedSince: string | null;
  readonly refusedReason: string | null;
}

/** The statements of what people do, each with its record of who did it. */
@Injectable()
export class OperatorStore {
  constructor(private readonly database: Database) {}

  transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  async record(
    manager: EntityManager,
    action: { id: string; operator: string; action: string; target: string; detail: object },
  ): Promise<void> {
    await this.database.query(
      `INSERT INTO payment_acceptance.operator_action (id, at, operator, action, target, detail)
       VALUES ($2, ${NOW}, $3, $4, $5, $6::jsonb)`,
      [
        this.database.offsetMs,
        action.id,
        databaseText(action.operator),
        action.action,
        action.target,
        JSON.stringify(action.detail, (_name, value: unknown) =>
          typeof value === 'string' ? databaseText(value) : value,
        ),
      ],
      manager,
    );
  }

  /** Ties an unknown outcome to the bill that the service turned out to have, to be checked at once. */
  async attach(manager: EntityManager, id: string, billId: BillId, linkPageUrl: string | null): Promise<boolean> {
    const attached = await this.database.query(
      `UPDATE payment_acceptance.bill SET state = 'OPEN', service_bill_id = $3, link_page_url = $4, failure = NULL, opened_at = ${NOW},
         ended_at = NULL, next_check_at = ${inMs('0')}, check_after = ${NOW}
       WHERE id = $2 AND state = 'UNKNOWN' RETURNING id`,
      [this.database.offsetMs, id, billId, linkPageUrl],
      manager,
    );
    return attached.length === 1;
  }

  async void(manager: EntityManager, id: string): Promise<boolean> {
    const voided = await this.database.query(
      `UPDATE payment_acceptance.bill SET state = 'VOIDED', ended_at = ${NOW} WHERE id = $2 AND state = 'UNKNOWN'
       RETURNING id`,
      [this.database.offsetMs, id],
      manager,
    );
    return voided.length === 1;
  }

  async review(id: string, scope: ShopScope, manager?: EntityManager): Promise<ReviewRow | undefined> {
    const [review] = await this.database.query<ReviewRow>(
      `SELECT id, shop, order_id AS "orderId", bill_id AS "intentId", payment_id AS "paymentId", reason, state,
         detail::text AS detail
       FROM payment_acceptance.review WHERE id = $1 AND ${inScope('shop', '$2')} ${manager ? 'FOR UPDATE' : ''}`,
      [id, scope],
      manager,
    );
    return review;
  }

  /** The newest review of a payment under this bill of ours, decided or not. */
  async newestReview(
    manager: EntityManager,
    intentId: IntentId,
    paymentId: PaymentId,
  ): Promise<PaymentReview | undefined> {
    const [newest] = await this.database.query<PaymentReview>(
      `SELECT r.id, r.reason, r.state, r.detail::text AS detail FROM payment_acceptance.review r
       WHERE r.bill_id = $1 AND r.payment_id = $2 ORDER BY r.opened_at DESC, r.id LIMIT 1`,
      [intentId, paymentId],
      manager,
    );
    return newest;
  }

  /** The order of the shop's bill with this id at the service, whatever its state. */
  async orderOfBill(manager: EntityManager, shop: string, billId: BillId): Promise<string | undefined> {
    const [bill] = await this.database.query<{ orderId: OrderId }>(
      `SELECT b.order_id AS "orderId" FROM payment_acceptance.bill b WHERE b.shop = $1 AND b.service_bill_id = $2`,
      [shop, billId],
      manager,
    );
    return bill?.orderId;
  }

  async closeReview(
    manager: EntityManager,
    id: string,
    state: 'ACCEPTED' | 'DISMISSED',
    operator: string,
  ): Promise<void> {
    await this.database.query(
      `UPDATE payment_acceptance.review SET state = $3, closed_at = ${NOW}, closed_by = $4 WHERE id = $2`,
      [this.database.offsetMs, id, state, operator],
      manager,
    );
  }

  deadLetters(filter: DeadLetterFilter, limit: number, scope: ShopScope): Promise<DeadLetter[]> {
    return this.database.query(
      `SELECT d.id::text AS "deliveryId", d.consumer, d.event_name AS event, d.event_id AS "eventId", b.shop,
         b.order_id AS "orderId", d.attempts, d.last_error AS "lastError"
       ${MATCHING} ORDER BY d.seq LIMIT $7`,
      [...matchingParameters(filter, scope), limit],
    );
  }

  /** Makes dead letters due again, with all their attempts; gives their number. */
  async replay(manager: EntityManager, filter: DeadLetterFilter, scope: ShopScope): Promise<number> {
    const replayed = await this.database.query(
      `UPDATE payment_acceptance.delivery SET state = 'PENDING', attempts = 0, replays = replays + 1, due_at = now(),
         ended_at = NULL, lease_token = NULL, lease_until = NULL
       WHERE id IN (SELECT d.id ${MATCHING} FOR UPDATE OF d) RETURNING id`,
      matchingParameters(filter, scope),
      manager,
    );
    return replayed.length;
  }

  async stats(scope: ShopScope): Promise<PaymentStats> {
    const [stats] = await this.database.query<Omit<PaymentStats, 'oldestDeliveryMs' | 'oldestCheckMs'> & Ages>(
      `SELECT
         (SELECT count(*)::int FROM payment_acceptance.bill WHERE state = 'UNKNOWN' AND ${inScope('shop', '$2')}) AS "unknownBills",
         (SELECT count(*)::int FROM payment_acceptance.review WHERE state = 'OPEN' AND ${inScope('shop', '$2')}) AS "openReviews",
         (SELECT count(*)::int FROM payment_acceptance.delivery d WHERE state = 'DEAD' AND ${OF_SHOP}) AS "deadLetters",
         (SELECT count(*)::int FROM payment_acceptance.delivery d WHERE state = 'PENDING' AND ${OF_SHOP}) AS "pendingDeliveries",
         (SELECT ${ageMs('min(e.occurred_at)')} FROM payment_acceptance.delivery d
          JOIN payment_acceptance.event e ON e.id = d.event_id WHERE d.state = 'PENDING' AND ${inScope('e.shop', '$2')}) AS "oldestDeliveryMs",
         (SELECT ${ageMs('min(next_check_at)')} FROM payment_acceptance.bill
          WHERE next_check_at <= ${NOW} AND ${inScope('shop', '$2')}) AS "oldestCheckMs",
         (SELECT count(*)::int FROM payment_acceptance.callback
          WHERE pending AND bill_id IS NULL AND NOT ${ACCEPTED_ELSEWHERE()} AND ${inScope('shop', '$2')}) AS "waitingCallbacks"`,
      [this.database.offsetMs, scope],
    );
    if (!stats) throw new Error('The counts of the payment tables could not be read.');
    const { oldestDeliveryMs: delivery, oldestCheckMs: check } = stats;
    return {
      ...stats,
      oldestDeliveryMs: delivery === null ? null : Number(delivery),
      oldestCheckMs: check === null ? null : Number(check),
    };
  }

  shops(scope: ShopScope): Promise<ShopState[]> {
    return this.database.query(
      `SELECT shop, ${iso('refused_since')} AS "refusedSince",
         refused_reason AS "refusedReason" FROM payment_acceptance.shop_state
       WHERE ${inScope('shop', '$1')} ORDER BY shop`,
      [scope],
    );
  }
}

interface Ages {
  readonly oldestDeliveryMs: string | null;
  readonly oldestCheckMs: string | null;
}

const ageMs = (instant: string): string => `floor(extract(epoch FROM ${NOW} - ${instant}) * 1000)::bigint::text`;

/** Deliveries of the shop that is `$2` of the statement; a delivery knows it by its event. */
const OF_SHOP = `($2::text IS NULL OR EXISTS (SELECT 1 FROM payment_acceptance.event e WHERE e.id = d.event_id AND e.shop = $2))`;

/** Dead letters that fit a filter and the scope: `$1` to `$6`. */
export const MATCHING = `FROM payment_acceptance.delivery d JOIN payment_acceptance.bill b ON b.id = d.bill_id
  WHERE d.state = 'DEAD' AND ($1::bigint IS NULL OR d.id = $1::bigint) AND ($2::text IS NULL OR d.consumer = $2)
    AND ($3::text IS NULL OR d.event_name = $3) AND ($4::text IS NULL OR b.shop = $4)
    AND ($5::text IS NULL OR b.order_id = $5)
    AND ${inScope('b.shop', '$6')}`;

/** What {@link MATCHING} needs. */
export function matchingParameters(
  { deliveryId, consumer, event, shop, orderId }: DeadLetterFilter,
  scope: ShopScope,
): unknown[] {
  const names = [consumer, event, shop, orderId].map((name) => (name === undefined ? null : databaseText(name)));
  return [deliveryId ?? null, ...names, scope];
}
