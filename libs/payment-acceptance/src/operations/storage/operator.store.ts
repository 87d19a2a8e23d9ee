import { Injectable } from '@nestjs/common';
import { READ_AT_ONCE } from '../../common/pieces.js';
import { PaymentRandom } from '../../common/random.js';
import { databaseText } from '../../common/text.js';
import type { DecimalAmount } from '../../domain/money.js';
import type { BillId, IntentId, OrderId, PaymentId } from '../../domain/ids.js';
import type { DeadLetterFilter, RecordedReview } from '../records.js';
import { Database } from '../../database/database.js';
import { deadLettersOf, isOrderless, orderlessOf } from './dead-letters.js';
import { LONG_STATEMENT_TIMEOUT_MS } from '../../database/statement-timeout.js';
import { CONSUMER_ABSENT_MS, type DeliveryQueue } from '../../events/storage/delivery.store.js';
import { operatorName } from '../operator-options.js';
import { ofScope, type ShopScope } from '../../database/scope.js';
import { rawSql, sql, type Statement } from '../../database/statement.js';
import type { OwnTransaction } from '../../database/own-transaction.js';

export interface ReviewRow extends Pick<
  RecordedReview,
  'id' | 'shop' | 'orderId' | 'intentId' | 'paymentId' | 'reason' | 'state'
> {
  /** What the service listed, as JSON. */
  readonly detail: string;
}

export type PaymentReview = Pick<ReviewRow, 'id' | 'reason' | 'state' | 'detail'>;

export interface OperatorAction {
  readonly operator: string;
  readonly action: string;
  readonly target: string;
  readonly detail: object;
}

export interface DeliveryToReplay extends DeliveryQueue {
  readonly id: string;
  readonly seq: string;
}

@Injectable()
export class OperatorStore {
  constructor(
    private readonly database: Database,
    private readonly random: PaymentRandom,
  ) {}

  transaction<T>(work: (tx: OwnTransaction) => Promise<T>): Promise<T> {
    return this.database.transaction(work);
  }

  /** Does the work and records it, both or neither. */
  act<T>(action: OperatorAction, work: (tx: OwnTransaction) => Promise<T>): Promise<T> {
    return this.transaction(async (tx) => {
      const result = await work(tx);
      await this.record(action, tx);
      return result;
    });
  }

  /**
   * Forgets those events of a consumer that no instance has hosted for {@link CONSUMER_ABSENT_MS}: settlements then
   * write no deliveries of them, unless an instance hosts them again.
   * @returns how many events were forgotten, and how many are still hosted
   */
  async forgetAbsent(
    tx: OwnTransaction,
    consumer: string,
  ): Promise<{ readonly forgotten: number; readonly hosted: number }> {
    const name = databaseText(consumer);
    const forgotten = await tx.change`
      DELETE FROM payment_acceptance.consumer WHERE name = ${name} AND last_seen_at < ${this.database.now(-CONSUMER_ABSENT_MS)}`;
    const hosted = await tx.count`SELECT count(*) AS count FROM payment_acceptance.consumer WHERE name = ${name}`;
    return { forgotten, hosted };
  }

  /** Returns at most {@link READ_AT_ONCE} deliveries of events that no instance hosts for the consumer. */
  findUntaken(consumer: string, state: 'PENDING' | 'DEAD'): Promise<string[]> {
    return this.database.withTimeout(LONG_STATEMENT_TIMEOUT_MS).ids`
      SELECT ${this.database.dialect.text('d.id')} AS id FROM payment_acceptance.delivery d
      WHERE d.state = ${state} AND ${this.isUntaken(consumer, sql`d`)} LIMIT ${READ_AT_ONCE}`;
  }

  removeUntaken(tx: OwnTransaction, consumer: string, ids: readonly string[]): Promise<number> {
    const { inKeyOrder, oneOf } = this.database.dialect;
    return tx.change`
      DELETE FROM payment_acceptance.delivery WHERE id ${oneOf(ids, 'bigint')} AND state IN ('PENDING', 'DEAD')
      AND ${this.isUntaken(consumer, sql`payment_acceptance.delivery`)} ${inKeyOrder(ids.length)}`;
  }

  private isUntaken(consumer: string, d: Statement): Statement {
    return sql`${d}.behind IN (FALSE, TRUE) AND ${d}.consumer = ${databaseText(consumer)}
      AND (${d}.lease_until IS NULL OR ${d}.lease_until < ${this.database.now()})
      AND NOT EXISTS (SELECT 1 FROM payment_acceptance.consumer c WHERE c.name = ${d}.consumer AND c.event_name = ${d}.event_name)`;
  }

  /**
   * @returns the id of the record
   * @throws PaymentOperatorActionError if `operator` has no visible character
   */
  async record({ operator, action, target, detail }: OperatorAction, tx?: OwnTransaction): Promise<string> {
    const id = this.random.uuid();
    await (tx ?? this.database).change`
      INSERT INTO payment_acceptance.operator_action (id, at, operator, action, target, detail)
      VALUES (${id}, ${this.database.now()}, ${operatorName(operator)}, ${action}, ${target}, ${storable(detail)})`;
    return id;
  }

  /** Adds to the record of an action still in progress. What an erasure has removed from it stays removed. */
  async amend(id: string, facts: Readonly<Record<string, number | DecimalAmount>>, tx?: OwnTransaction): Promise<void> {
    const detail = this.database.dialect.jsonWith('detail', facts);
    await (tx ?? this.database).change`
      UPDATE payment_acceptance.operator_action SET detail = ${detail} WHERE id = ${id}`;
  }

  /** The bill is then checked at once. */
  async attach(tx: OwnTransaction, id: string, billId: BillId, linkPageUrl: string | null): Promise<boolean> {
    const attached = await tx.change`
      UPDATE payment_acceptance.bill SET state = 'OPEN', bill_id = ${billId}, link_page_url = ${linkPageUrl},
        failure = NULL, opened_at = ${this.database.now()}, ended_at = NULL, next_check_at = ${this.database.now()}, check_after = ${this.database.now()}
      WHERE intent_id = ${id} AND state = 'UNKNOWN'`;
    return attached === 1;
  }

  async void(tx: OwnTransaction, id: string): Promise<boolean> {
    const voided = await tx.change`
      UPDATE payment_acceptance.bill SET state = 'VOIDED', ended_at = ${this.database.now()}
      WHERE intent_id = ${id} AND state = 'UNKNOWN'`;
    return voided === 1;
  }

  async review(id: string, scope: ShopScope, tx?: OwnTransaction): Promise<ReviewRow | undefined> {
    const [review] = await (tx ?? this.database).rows<ReviewRow>({})`
      SELECT id, shop, order_id AS "orderId", intent_id AS "intentId", payment_id AS "paymentId", reason, state,
        ${this.database.dialect.text('detail')} AS detail
      FROM payment_acceptance.review WHERE id = ${id} AND ${ofScope('shop', scope)}
      ${rawSql(tx ? 'FOR UPDATE' : '')}`;
    return review;
  }

  async newestReview(tx: OwnTransaction, intentId: IntentId, paymentId: PaymentId): Promise<PaymentReview | undefined> {
    const [newest] = await tx.rows<PaymentReview>({})`
      SELECT r.id, r.reason, r.state, ${this.database.dialect.text('r.detail')} AS detail
      FROM payment_acceptance.review r WHERE r.intent_id = ${intentId} AND r.payment_id = ${paymentId}
      ORDER BY r.opened_at DESC, r.id LIMIT 1`;
    return newest;
  }

  async orderIdOfBill(tx: OwnTransaction, shop: string, billId: BillId): Promise<string | undefined> {
    const [bill] = await tx.rows<{ orderId: OrderId }>({})`SELECT b.order_id AS "orderId" FROM payment_acceptance.bill b
      WHERE b.shop = ${shop} AND b.bill_id = ${billId}`;
    return bill?.orderId;
  }

  async closeReview(tx: OwnTransaction, id: string, state: 'ACCEPTED' | 'DISMISSED', operator: string): Promise<void> {
    await tx.change`
      UPDATE payment_acceptance.review SET state = ${state}, closed_at = ${this.database.now()}, closed_by = ${operatorName(operator)}
      WHERE id = ${id}`;
  }

  replayable(filter: DeadLetterFilter, scope: ShopScope): Promise<number> {
    const { dialect } = this.database;
    return this.database.count`SELECT (SELECT count(*) ${deadLettersOf(dialect, filter, scope)})
      + (SELECT count(*) ${orderlessOf(dialect, filter, scope)}) AS count`;
  }

  /** Returns at most {@link READ_AT_ONCE}, the oldest events first. */
  deadToReplay(filter: DeadLetterFilter, scope: ShopScope, after?: DeliveryToReplay): Promise<DeliveryToReplay[]> {
    const afterCursor = after ? sql`AND d.seq >= ${after.seq} AND (d.seq, d.id) > (${after.seq}, ${after.id})` : sql``;
    return this.toReplay(deadLettersOf(this.database.dialect, filter, scope, afterCursor), sql`d.seq, d.id`);
  }

  /** Returns at most {@link READ_AT_ONCE}, ordered by consumer. */
  orderlessToReplay(filter: DeadLetterFilter, scope: ShopScope, after?: DeliveryToReplay): Promise<DeliveryToReplay[]> {
    const afterCursor = after
      ? sql`AND d.consumer >= ${after.consumer} AND (d.consumer, d.seq) > (${after.consumer}, ${after.seq})`
      : sql``;
    return this.toReplay(orderlessOf(this.database.dialect, filter, scope, afterCursor), sql`d.consumer, d.seq`);
  }

  private toReplay(which: Statement, order: Statement): Promise<DeliveryToReplay[]> {
    const { dialect } = this.database;
    return this.database.withTimeout(LONG_STATEMENT_TIMEOUT_MS).rows<DeliveryToReplay>({})`
      SELECT ${dialect.text('d.id')} AS id, d.intent_id AS "intentId", d.consumer, ${dialect.text('d.seq')} AS seq
      ${which} ORDER BY ${order} LIMIT ${READ_AT_ONCE}`;
  }

  /**
   * Makes the given deliveries due now, with a full set of attempts, if they still are dead letters or wait for an
   * order; returns how many. Dead letters are marked `behind` until `DeliveryStore.free` clears the heads of their
   * queues.
   */
  async replay(tx: OwnTransaction, ids: readonly string[]): Promise<number> {
    const { dialect } = this.database;
    const isDead = sql`d.state = 'DEAD'`;
    // A subquery, because the planner may believe that few deliveries wait or are dead, and would then search all of
    // them. A delivery whose attempt is running is left alone: the attempt finds the order, or is retried
    // automatically. MariaDB sets one column after the other, so the state, which other columns depend on, comes last.
    return tx.change`
      UPDATE payment_acceptance.delivery d ${dialect.byPrimaryKey} SET attempts = 0, due_at = ${dialect.now(0)},
        replays = replays + CASE WHEN ${isDead} THEN 1 ELSE 0 END, behind = (behind OR ${isDead}), ended_at = NULL,
        lease_token = NULL, lease_until = NULL, state = 'PENDING'
      WHERE d.id ${dialect.oneOf(ids, 'bigint')} AND (SELECT ${isDead} OR ${isOrderless('d')})`;
  }
}

function storable(detail: object): string {
  return JSON.stringify(detail, (_name, value: unknown) => (typeof value === 'string' ? databaseText(value) : value));
}
