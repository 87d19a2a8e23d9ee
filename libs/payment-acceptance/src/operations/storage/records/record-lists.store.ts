import { Injectable } from '@nestjs/common';
import type { BillState } from '../../../domain/bill.js';
import type { BillId, IntentId, OrderId } from '../../../domain/ids.js';
import type {
  BillSummary,
  DeadLetter,
  DeadLetterFilter,
  LoggedAction,
  RecordedAction,
  RecordedReview,
  RecordPage,
  WaitingPostback,
} from '../../records.js';
import { isUuid } from '../../../domain/uuid.js';
import { Database } from '../../../database/database.js';
import { withDeliveryId } from '../../../events/storage/delivery.store.js';
import { deadLettersOf, isDelivery } from '../dead-letters.js';
import { integer } from '../../../database/reading.js';
import { ofScope, type ShopScope } from '../../../database/scope.js';
import { rawSql, join, sql } from '../../../database/statement.js';
import { LONG_STATEMENT_TIMEOUT_MS } from '../../../database/statement-timeout.js';
import {
  ACTION_READERS,
  SUMMARY_READERS,
  PAGE_SIZE,
  REVIEW_READERS,
  REVIEWS,
  actionColumns,
  summaryColumns,
  pageOf,
  reviewColumns,
} from './columns.js';

@Injectable()
export class RecordListsStore {
  constructor(private readonly database: Database) {}

  /** Newest first. Each state is a range of the index, so rare states are found as fast as others. */
  async bills(scope: ShopScope, states: readonly BillState[], before?: string): Promise<RecordPage<BillSummary>> {
    if (states.length === 0) return pageOf([]);
    const beforeCursor = isId(before)
      ? sql`AND (b.created_at, b.intent_id) < (SELECT created_at, intent_id FROM payment_acceptance.bill
           WHERE intent_id = ${before} AND ${ofScope('shop', scope)})`
      : rawSql('');
    const newest = states.map(
      (state) => sql`(SELECT b.* FROM payment_acceptance.bill b
         WHERE b.state = ${state} AND ${ofScope('b.shop', scope)} ${beforeCursor}
         ORDER BY b.created_at DESC, b.intent_id DESC LIMIT ${PAGE_SIZE + 1})`,
    );
    const rows = await this.database.rows<BillSummary>(SUMMARY_READERS)`
      SELECT ${summaryColumns(this.database.dialect)} FROM (${join(newest, ' UNION ALL ')}) b
      ORDER BY b.created_at DESC, b.intent_id DESC LIMIT ${PAGE_SIZE + 1}`;
    return pageOf(rows);
  }

  /** Finds exact matches only: the newest, but paid ones first. */
  async search(scope: ShopScope, text: string): Promise<BillSummary[]> {
    const { dialect } = this.database;
    const ofShops = sql`shop ${dialect.oneOf(scope === null ? await this.shops() : [scope], 'text')}`;
    const byId = isUuid(text)
      ? sql`UNION SELECT intent_id FROM payment_acceptance.bill WHERE ${ofShops} AND intent_id = ${text}`
      : rawSql('');
    return this.database.rows<BillSummary>(SUMMARY_READERS)`SELECT ${summaryColumns(dialect)} FROM (
        SELECT intent_id FROM payment_acceptance.bill WHERE ${ofShops} AND order_id = ${text}
        UNION SELECT intent_id FROM payment_acceptance.bill WHERE ${ofShops} AND bill_id = ${text}
        UNION SELECT intent_id FROM payment_acceptance.payment WHERE ${ofShops} AND payment_id = ${text}
        ${byId}) found
      JOIN payment_acceptance.bill b ON b.intent_id = found.intent_id
      ORDER BY CASE WHEN b.state = 'PAID' THEN 0 ELSE 1 END, b.created_at DESC, b.intent_id DESC LIMIT ${PAGE_SIZE}`;
  }

  async shops(): Promise<string[]> {
    const rows = await this.database.rows<{ shop: string }>({})`
      SELECT shop FROM payment_acceptance.shop_state ORDER BY shop`;
    return rows.map(({ shop }) => shop);
  }

  reviews(scope: ShopScope, limit: number, after?: string): Promise<RecordedReview[]> {
    const afterCursor = isId(after)
      ? sql`AND (r.opened_at, r.id) > (SELECT opened_at, id FROM payment_acceptance.review
           WHERE id = ${after} AND ${ofScope('shop', scope)})`
      : rawSql('');
    return this.database.rows<RecordedReview>(REVIEW_READERS)`
      SELECT ${reviewColumns(this.database.dialect)} FROM ${REVIEWS}
      WHERE r.state = 'OPEN' AND ${ofScope('r.shop', scope)} ${afterCursor} ORDER BY r.opened_at, r.id LIMIT ${limit}`;
  }

  async review(scope: ShopScope, id: string): Promise<RecordedReview | undefined> {
    if (!isUuid(id)) return undefined;
    const [review] = await this.database.rows<RecordedReview>(REVIEW_READERS)`
      SELECT ${reviewColumns(this.database.dialect)} FROM ${REVIEWS} WHERE r.id = ${id} AND ${ofScope('r.shop', scope)}`;
    return review;
  }

  async deadLetters(scope: ShopScope, filter: DeadLetterFilter, limit: number, after?: string): Promise<DeadLetter[]> {
    const { dialect } = this.database;
    const cursor = isId(after) ? await this.placeOf(after, scope) : null;
    if (cursor === undefined) return [];
    const afterCursor = cursor ? sql`AND (d.seq, d.id) > (${cursor.seq}, ${cursor.id})` : rawSql('');
    const letters = await this.database.rows<Omit<DeadLetter, 'deliveryId'>>({ attempts: integer, replays: integer })`
      SELECT d.consumer, d.event_name AS event, d.event_id AS "eventId",
        b.shop, b.order_id AS "orderId", b.intent_id AS "intentId", d.attempts, d.replays, d.last_error AS "lastError",
        ${dialect.iso('d.ended_at')} AS "endedAt"
      ${deadLettersOf(this.database.dialect, filter, scope, afterCursor)} ORDER BY d.seq, d.id LIMIT ${limit}`;
    return letters.map(withDeliveryId);
  }

  /** The place of a dead letter in their order, also of one that has been replayed since. */
  private async placeOf(deliveryId: string, scope: ShopScope): Promise<{ seq: string; id: string } | undefined> {
    const { dialect } = this.database;
    // Dead letters are found by an index; only if none has this id are all deliveries read, for a replayed one.
    for (const condition of [sql`d.state = 'DEAD'`, sql`d.replays > 0`]) {
      const [place] = await this.database.withTimeout(LONG_STATEMENT_TIMEOUT_MS).rows<{ seq: string; id: string }>({})`
        SELECT ${dialect.text('d.seq')} AS seq, ${dialect.text('d.id')} AS id FROM payment_acceptance.delivery d
        JOIN payment_acceptance.event e ON e.id = d.event_id
        WHERE ${condition} AND ${isDelivery(dialect, 'd', deliveryId)} AND ${ofScope('e.shop', scope)}`;
      if (place) return place;
    }
    return undefined;
  }

  deadLetterCount(scope: ShopScope, filter: DeadLetterFilter): Promise<number> {
    return this.database.count`
      SELECT count(*) AS count ${deadLettersOf(this.database.dialect, filter, scope)}`;
  }

  waitingPostbacks(scope: ShopScope): Promise<WaitingPostback[]> {
    const { dialect } = this.database;
    return this.database.rows<WaitingPostback>({})`
      SELECT c.shop, c.order_id AS "orderId", c.bill_id AS "trsId", c.status, c.digest,
        ${dialect.iso('c.received_at')} AS "receivedAt"
      FROM payment_acceptance.callback c WHERE c.pending AND c.intent_id IS NULL
        AND ${ofScope('c.shop', scope)}
      ORDER BY c.received_at DESC, c.id LIMIT ${PAGE_SIZE}`;
  }

  /** Up to three orders that waiting postbacks of a bill name, beginning with `first`. Postbacks may be forged. */
  async ordersNamed(shop: string, billId: BillId, first: string): Promise<string[]> {
    const rows = await this.database.rows<{ orderId: string }>({})`
      SELECT c.order_id AS "orderId" FROM payment_acceptance.callback c WHERE c.pending = TRUE AND c.intent_id IS NULL
        AND c.shop = ${shop} AND c.bill_id = ${billId} AND c.order_id IS NOT NULL
      GROUP BY c.order_id ORDER BY c.order_id = ${first} DESC LIMIT 3`;
    return rows.map(({ orderId }) => orderId);
  }

  async actions(before?: string): Promise<RecordPage<LoggedAction>> {
    const beforeCursor = isId(before)
      ? sql`WHERE (a.at, a.id) < (SELECT at, id FROM payment_acceptance.operator_action WHERE id = ${before})`
      : rawSql('');
    const actions = await this.database.rows<RecordedAction>(ACTION_READERS)`
      SELECT ${actionColumns(this.database.dialect)} FROM payment_acceptance.operator_action a
      ${beforeCursor} ORDER BY a.at DESC, a.id DESC LIMIT ${PAGE_SIZE + 1}`;
    const bills = new Map((await this.billsOf(actions)).map((bill) => [bill.target, bill]));
    return pageOf(
      actions.map((action) => {
        const { intentId = null, orderId = null } = bills.get(action.target) ?? {};
        return { ...action, intentId, orderId };
      }),
    );
  }

  private billsOf(actions: readonly RecordedAction[]): Promise<BillOfTarget[]> {
    const { text, oneOf } = this.database.dialect;
    const uuids = actions.map(({ target }) => target).filter(isUuid);
    const bill = sql`b.intent_id AS "intentId", b.order_id AS "orderId"`;
    return this.database.rows<BillOfTarget>({})`
      SELECT ${text('b.intent_id')} AS target, ${bill} FROM payment_acceptance.bill b WHERE b.intent_id ${oneOf(uuids, 'uuid')}
      UNION ALL
      SELECT ${text('r.id')}, ${bill} FROM payment_acceptance.review r JOIN payment_acceptance.bill b ON b.intent_id = r.intent_id
      WHERE r.id ${oneOf(uuids, 'uuid')}`;
  }
}

interface BillOfTarget {
  readonly target: string;
  readonly intentId: IntentId;
  readonly orderId: OrderId;
}

function isId(text: string | undefined): text is string {
  return text !== undefined && isUuid(text);
}
