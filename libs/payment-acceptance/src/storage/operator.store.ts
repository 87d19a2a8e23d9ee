import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { databaseText } from '../common/text.js';
import { Database } from './database.js';
import { deadLettersOf, type DeadLetter, type DeadLetterFilter } from './dead-letters.js';
import { isHeld } from './delivery.store.js';
import type { Dialect } from './dialect.js';
import { IS_LOST } from './lost-bills.js';
import { integer } from './reading.js';
import { isReleased, ORDER_NOT_FOUND, type Released, type ReleaseFilter } from './release.js';
import { ofScope, type ShopScope } from './scope.js';
import { countWhere, rawSql, sql, type Expression, type Statement } from './statement.js';
import type { BillId, DeliveryId, IntentId, OrderId, PaymentId } from '../domain/ids.js';

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
  /** Bills that the service has made and the ledger does not have, and that nobody has dismissed. */
  readonly lostBills: number;
  readonly openReviews: number;
  readonly deadLetters: number;
  readonly pendingDeliveries: number;
  /** Bills whose events are kept back until they are released, and their deliveries, which count as pending, too. */
  readonly heldBills: number;
  readonly heldDeliveries: number;
  /** Age of the oldest pending delivery that is not kept back, and of the longest overdue check, in milliseconds. */
  readonly oldestDeliveryMs: number | null;
  readonly oldestCheckMs: number | null;
  readonly waitingCallbacks: number;
}

/** A consumer with deliveries whose last attempt has failed. */
export interface FailingConsumer {
  readonly consumer: string;
  /** How many of its deliveries fail and are tried again. */
  readonly deliveries: number;
  /** Age of the oldest event of these, in milliseconds. */
  readonly oldestMs: number;
  /** Of how many of these the handler has found no order: it threw an `OrderNotFoundError`. */
  readonly ordersNotFound: number;
}

/** A shop with bills whose checks fail. */
export interface FailingShop {
  readonly shop: string;
  /** How many of its bills have not been checked successfully in the last five attempts or more. */
  readonly bills: number;
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
    const detail = JSON.stringify(action.detail, (_name, value: unknown) =>
      typeof value === 'string' ? databaseText(value) : value,
    );
    await this.database.change(
      sql`INSERT INTO payment_acceptance.operator_action (id, at, operator, action, target, detail)
       VALUES (${action.id}, ${this.now()}, ${databaseText(action.operator)}, ${action.action}, ${action.target}, ${detail})`,
      manager,
    );
  }

  /** Ties an unknown outcome to the bill that the service turned out to have, to be checked at once. */
  async attach(manager: EntityManager, id: string, billId: BillId, linkPageUrl: string | null): Promise<boolean> {
    const attached = await this.database.change(
      sql`UPDATE payment_acceptance.bill SET state = 'OPEN', service_bill_id = ${billId}, link_page_url = ${linkPageUrl},
         failure = NULL, opened_at = ${this.now()}, ended_at = NULL, next_check_at = ${this.now()}, check_after = ${this.now()}
       WHERE id = ${id} AND state = 'UNKNOWN'`,
      manager,
    );
    return attached === 1;
  }

  async void(manager: EntityManager, id: string): Promise<boolean> {
    const voided = await this.database.change(
      sql`UPDATE payment_acceptance.bill SET state = 'VOIDED', ended_at = ${this.now()}
       WHERE id = ${id} AND state = 'UNKNOWN'`,
      manager,
    );
    return voided === 1;
  }

  async review(id: string, scope: ShopScope, manager?: EntityManager): Promise<ReviewRow | undefined> {
    const [review] = await this.database.rows<ReviewRow>(
      sql`SELECT id, shop, order_id AS "orderId", bill_id AS "intentId", payment_id AS "paymentId", reason, state,
         ${this.database.dialect.text('detail')} AS detail
       FROM payment_acceptance.review WHERE id = ${id} AND ${ofScope('shop', scope)}
       ${rawSql(manager ? 'FOR UPDATE' : '')}`,
      {},
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
    const [newest] = await this.database.rows<PaymentReview>(
      sql`SELECT r.id, r.reason, r.state, ${this.database.dialect.text('r.detail')} AS detail
       FROM payment_acceptance.review r WHERE r.bill_id = ${intentId} AND r.payment_id = ${paymentId}
       ORDER BY r.opened_at DESC, r.id LIMIT 1`,
      {},
      manager,
    );
    return newest;
  }

  /** The order of the shop's bill with this id at the service, whatever its state. */
  async orderOfBill(manager: EntityManager, shop: string, billId: BillId): Promise<string | undefined> {
    const [bill] = await this.database.rows<{ orderId: OrderId }>(
      sql`SELECT b.order_id AS "orderId" FROM payment_acceptance.bill b
       WHERE b.shop = ${shop} AND b.service_bill_id = ${billId}`,
      {},
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
    await this.database.change(
      sql`UPDATE payment_acceptance.review SET state = ${state}, closed_at = ${this.now()}, closed_by = ${operator}
       WHERE id = ${id}`,
      manager,
    );
  }

  deadLetters(filter: DeadLetterFilter, limit: number, scope: ShopScope): Promise<DeadLetter[]> {
    return this.database.rows<DeadLetter>(
      sql`SELECT ${this.database.dialect.text('d.id')} AS "deliveryId", d.consumer, d.event_name AS event,
         d.event_id AS "eventId", b.shop, b.order_id AS "orderId", d.attempts, d.last_error AS "lastError"
       ${deadLettersOf(filter, scope)} ORDER BY d.seq LIMIT ${limit}`,
      { attempts: integer },
    );
  }

  /**
   * Makes dead letters due again, with all their attempts; gives their number. All of them wait behind others of their queues
   * until `DeliveryStore.free` has looked.
   */
  async replay(manager: EntityManager, filter: DeadLetterFilter, scope: ShopScope): Promise<number> {
    const { dialect } = this.database;
    const found = await this.database.rows<{ id: DeliveryId }>(
      sql`SELECT ${dialect.text('d.id')} AS id ${deadLettersOf(filter, scope)} ORDER BY d.id`,
      {},
      manager,
    );
    const ids = found.map(({ id }) => id);
    // Somebody else may have replayed some of them since.
    return this.database.change(
      sql`UPDATE payment_acceptance.delivery SET state = 'PENDING', attempts = 0, replays = replays + 1, behind = TRUE,
         due_at = ${dialect.now(0)}, ended_at = NULL, lease_token = NULL, lease_until = NULL
       WHERE id ${dialect.oneOf(ids, 'bigint')} AND state = 'DEAD'`,
      manager,
    );
  }

  /**
   * Lets the events of held bills go, and deliveries be tried now whose handler has found no order. All of them wait behind
   * others of their queues until `DeliveryStore.free` has looked.
   */
  async release(manager: EntityManager, filter: ReleaseFilter, scope: ShopScope): Promise<Released> {
    const { dialect } = this.database;
    const fits = isReleased(filter, scope);
    const held = await this.database.rows<{ id: IntentId }>(
      sql`SELECT b.id FROM payment_acceptance.held_bill h JOIN payment_acceptance.bill b ON b.id = h.bill_id
       WHERE ${fits} ORDER BY b.id`,
      {},
      manager,
    );
    const bills = await this.database.change(
      sql`DELETE FROM payment_acceptance.held_bill WHERE bill_id ${dialect.oneOf(
        held.map(({ id }) => id),
        'uuid',
      )}`,
      manager,
    );
    const missing = await this.database.rows<{ id: DeliveryId }>(
      sql`SELECT ${dialect.text('d.id')} AS id FROM payment_acceptance.delivery d
       JOIN payment_acceptance.bill b ON b.id = d.bill_id
       WHERE d.state = 'PENDING' AND d.last_error_code = ${ORDER_NOT_FOUND} AND ${fits} ORDER BY d.id`,
      {},
      manager,
    );
    // One that runs at this moment meets the order, or comes again by itself.
    const retried = await this.database.change(
      sql`UPDATE payment_acceptance.delivery SET attempts = 0, due_at = ${dialect.now(0)}
       WHERE id ${dialect.oneOf(
         missing.map(({ id }) => id),
         'bigint',
       )} AND state = 'PENDING' AND lease_token IS NULL`,
      manager,
    );
    return { bills, retried };
  }

  async stats(scope: ShopScope): Promise<PaymentStats> {
    const { dialect } = this.database;
    const age = (instant: Lowercase<string>) => dialect.msBetween(instant, this.now());
    const ofShop =
      scope === null
        ? ofScope('shop', null)
        : sql`EXISTS (SELECT 1 FROM payment_acceptance.event e
           WHERE e.id = d.event_id AND e.shop = ${scope})`;
    const [stats] = await this.database.rows<PaymentStats>(
      sql`SELECT
         (SELECT count(*) FROM payment_acceptance.bill WHERE state = 'UNKNOWN' AND ${ofScope('shop', scope)}) AS "unknownBills",
         (SELECT count(*) FROM payment_acceptance.lost_bill l WHERE ${IS_LOST} AND ${ofScope('l.shop', scope)}) AS "lostBills",
         (SELECT count(*) FROM payment_acceptance.review WHERE state = 'OPEN' AND ${ofScope('shop', scope)}) AS "openReviews",
         (SELECT count(*) FROM payment_acceptance.delivery d WHERE state = 'DEAD' AND ${ofShop}) AS "deadLetters",
         (SELECT count(*) FROM payment_acceptance.delivery d WHERE state = 'PENDING' AND ${ofShop}) AS "pendingDeliveries",
         (SELECT ${age('min(e.occurred_at)')} FROM payment_acceptance.delivery d
          JOIN payment_acceptance.event e ON e.id = d.event_id
          WHERE d.state = 'PENDING' AND NOT ${isHeld('d.bill_id')} AND ${ofScope('e.shop', scope)}) AS "oldestDeliveryMs",
         (SELECT count(*) FROM payment_acceptance.held_bill h WHERE ${ofScope('h.shop', scope)}) AS "heldBills",
         (SELECT count(*) FROM payment_acceptance.held_bill h JOIN payment_acceptance.delivery d ON d.bill_id = h.bill_id
          WHERE d.state = 'PENDING' AND ${ofScope('h.shop', scope)}) AS "heldDeliveries",
         (SELECT ${age('min(next_check_at)')} FROM payment_acceptance.bill
          WHERE next_check_at <= ${this.now()} AND ${ofScope('shop', scope)}) AS "oldestCheckMs",
         (SELECT count(*) FROM payment_acceptance.callback c WHERE c.pending AND c.bill_id IS NULL
            AND ${notAcceptedElsewhere(dialect, 'c.corroboration')} AND ${ofScope('c.shop', scope)}) AS "waitingCallbacks"`,
      {
        unknownBills: integer,
        lostBills: integer,
        openReviews: integer,
        deadLetters: integer,
        pendingDeliveries: integer,
        heldBills: integer,
        heldDeliveries: integer,
        oldestDeliveryMs: integer,
        oldestCheckMs: integer,
        waitingCallbacks: integer,
      },
    );
    if (!stats) throw new Error('The counts of the payment tables could not be read.');
    return stats;
  }

  /** Consumers with deliveries that fail and are tried again, that of the oldest event first; at most `limit`. */
  failingConsumers(limit: number): Promise<FailingConsumer[]> {
    const { dialect } = this.database;
    return this.database.rows<FailingConsumer>(
      sql`SELECT d.consumer, count(*) AS deliveries,
         ${countWhere(sql`d.last_error_code = ${ORDER_NOT_FOUND}`)} AS "ordersNotFound", ${dialect.msBetween('min(e.occurred_at)', this.now())} AS "oldestMs"
       FROM payment_acceptance.delivery d JOIN payment_acceptance.event e ON e.id = d.event_id
       WHERE d.state = 'PENDING' AND d.last_error IS NOT NULL GROUP BY d.consumer ORDER BY min(e.occurred_at) LIMIT ${limit}`,
      { deliveries: integer, oldestMs: integer, ordersNotFound: integer },
    );
  }

  /** Shops with bills whose checks fail again and again, those with the most first; at most `limit`. */
  failingShops(limit: number): Promise<FailingShop[]> {
    return this.database.rows<FailingShop>(
      sql`SELECT shop, count(*) AS bills FROM payment_acceptance.bill WHERE failed_checks >= 5 AND next_check_at IS NOT NULL
       GROUP BY shop ORDER BY bills DESC, shop LIMIT ${limit}`,
      { bills: integer },
    );
  }

  shops(scope: ShopScope): Promise<ShopState[]> {
    return this.database.rows<ShopState>(
      sql`SELECT shop, ${this.database.dialect.iso('refused_since')} AS "refusedSince", refused_reason AS "refusedReason"
       FROM payment_acceptance.shop_state WHERE ${ofScope('shop', scope)} ORDER BY shop`,
      {},
    );
  }

  private now(): Statement {
    return this.database.dialect.now(this.database.offsetMs);
  }
}

/** Of a callback that another integration has not accepted, by what its corroboration says. */
export function notAcceptedElsewhere(dialect: Dialect, corroboration: Expression): Statement {
  return sql`coalesce(${dialect.jsonText(corroboration, 'forwarded')}, '') <> 'accepted'`;
}
