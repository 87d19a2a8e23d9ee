import { Injectable } from '@nestjs/common';
import type { IntentId } from '../../../domain/ids.js';
import type {
  BillDetails,
  BillHistory,
  BillSummary,
  RecordedAction,
  RecordedCallback,
  RecordedDelivery,
  RecordedEvent,
  RecordedPayment,
  RecordedReview,
} from '../../records.js';
import { deliveryId } from '../../../domain/event-id.js';
import { isUuid } from '../../../domain/uuid.js';
import { Database } from '../../../database/database.js';
import { flag, integer, json } from '../../../database/reading.js';
import { ofScope, type ShopScope } from '../../../database/scope.js';
import {
  ACTION_READERS,
  SUMMARY_READERS,
  REVIEW_READERS,
  REVIEWS,
  actionColumns,
  summaryColumns,
  reviewColumns,
} from './columns.js';

/** Maximum rows of each kind, the newest, since anybody may send thousands of callbacks or try thousands of cards. */
const MAX_ROWS = 300;

@Injectable()
export class BillHistoryStore {
  constructor(private readonly database: Database) {}

  /**
   * `undefined` if the scope has no such bill. Runs one statement at a time, so that a person's page takes no more than
   * one of the module's connections away from payments.
   */
  async ofBill(scope: ShopScope, intentId: IntentId): Promise<BillHistory | undefined> {
    const bill = await this.bill(scope, intentId);
    if (!bill) return undefined;
    const attempts = await this.attempts(bill);
    const payments = await this.payments(intentId);
    const callbacks = await this.callbacks(intentId);
    const events = await this.events(intentId);
    const reviews = await this.reviews(intentId);
    const targets = [intentId, ...reviews.map(({ id }) => id)];
    const actions = await this.actions(targets);
    const truncated = [attempts, payments, callbacks, events, reviews, actions].some(
      ({ length }) => length === MAX_ROWS,
    );
    return { bill, attempts, payments, callbacks, events, reviews, actions, truncated };
  }

  async bill(scope: ShopScope, intentId: IntentId): Promise<BillDetails | undefined> {
    if (!isUuid(intentId)) return undefined;
    const { dialect } = this.database;
    const [bill] = await this.database.rows<BillDetails>({
      ...SUMMARY_READERS,
      customGiven: flag,
      payerPaysCommission: flag,
      failedChecks: integer,
    })`
      SELECT ${summaryColumns(dialect)}, b.description, b.custom, b.custom_given AS "customGiven",
        b.payer_pays_commission AS "payerPaysCommission", b.link_page_url AS "linkPageUrl",
        ${dialect.iso('b.opened_at')} AS "openedAt", ${dialect.iso('b.paid_at')} AS "paidAt",
        ${dialect.iso('b.ended_at')} AS "endedAt", ${dialect.iso('b.checked_at')} AS "checkedAt",
        ${dialect.iso('b.next_check_at')} AS "nextCheckAt", b.last_check_error AS "lastCheckError",
        b.failed_checks AS "failedChecks", ${dialect.iso('b.redacted_at')} AS "redactedAt",
        ${dialect.iso('o.cancelled_at')} AS "orderCancelledAt"
      FROM payment_acceptance.bill b JOIN payment_acceptance.shop_order o ON o.shop = b.shop AND o.order_id = b.order_id
      WHERE b.intent_id = ${intentId} AND ${ofScope('b.shop', scope)}`;
    return bill;
  }

  private async attempts({ shop, orderId }: BillSummary): Promise<BillSummary[]> {
    const newestFirst = await this.database.rows<BillSummary>(SUMMARY_READERS)`
      SELECT ${summaryColumns(this.database.dialect)} FROM payment_acceptance.bill b
      WHERE b.shop = ${shop} AND b.order_id = ${orderId} ORDER BY b.attempt DESC LIMIT ${MAX_ROWS}`;
    return newestFirst.reverse();
  }

  /** In the order in which they were first seen. */
  private async payments(intentId: IntentId): Promise<RecordedPayment[]> {
    const { dialect } = this.database;
    const payments = await this.database.rows<RecordedPayment>({})`
      SELECT p.payment_id AS "paymentId", p.status, p.service_status AS "serviceStatus",
        ${dialect.text('p.amount')} AS amount, ${dialect.text('p.amount_received')} AS "amountReceived", p.currency,
        p.from_card AS "fromCard", p.service_created_at AS "serviceCreatedAt", p.verdict,
        ${dialect.iso('p.first_seen_at')} AS "firstSeenAt", ${dialect.iso('p.changed_at')} AS "changedAt"
      FROM payment_acceptance.payment p WHERE p.intent_id = ${intentId}
      ORDER BY p.changed_at DESC, p.payment_id DESC LIMIT ${MAX_ROWS}`;
    return oldestFirst(payments, ({ firstSeenAt }) => firstSeenAt);
  }

  /** Newest first. */
  private callbacks(intentId: IntentId): Promise<RecordedCallback[]> {
    const { dialect } = this.database;
    return this.database.rows<RecordedCallback>({ corroboration: json, fields: json, pending: flag, asks: integer })`
      SELECT c.id, c.kind, c.status, c.digest, ${dialect.text('c.corroboration')} AS corroboration,
        ${dialect.text('c.fields')} AS fields, c.pending, c.asks, c.outcome, ${dialect.iso('c.received_at')} AS "receivedAt"
      FROM payment_acceptance.callback c WHERE c.intent_id = ${intentId}
      ORDER BY c.received_at DESC, c.id DESC LIMIT ${MAX_ROWS}`;
  }

  private async events(intentId: IntentId): Promise<RecordedEvent[]> {
    const { dialect } = this.database;
    const newestFirst = await this.database.rows<Omit<RecordedEvent, 'deliveries'>>({ payload: json })`
      SELECT e.id, e.name, ${dialect.text('e.payload')} AS payload, ${dialect.iso('e.occurred_at')} AS "occurredAt"
      FROM payment_acceptance.event e WHERE e.intent_id = ${intentId} ORDER BY e.seq DESC LIMIT ${MAX_ROWS}`;
    const ids = newestFirst.map(({ id }) => id);
    const deliveries = await this.database.rows<Omit<RecordedDelivery, 'deliveryId'> & { readonly eventId: string }>({
      attempts: integer,
      replays: integer,
    })`
      SELECT d.event_id AS "eventId", d.consumer, d.state, d.attempts, d.replays, ${dialect.iso('d.due_at')} AS "dueAt",
        ${dialect.iso('d.ended_at')} AS "endedAt", d.last_error AS "lastError"
      FROM payment_acceptance.delivery d WHERE d.event_id ${dialect.oneOf(ids, 'uuid')} ORDER BY d.consumer`;
    return newestFirst.reverse().map((event) => ({
      ...event,
      deliveries: deliveries.flatMap(({ eventId, ...delivery }) =>
        eventId === event.id ? { ...delivery, deliveryId: deliveryId(eventId, delivery.consumer) } : [],
      ),
    }));
  }

  /** Also the oldest, if they are open. */
  private async reviews(intentId: IntentId): Promise<RecordedReview[]> {
    const reviews = await this.database.rows<RecordedReview>(REVIEW_READERS)`
      SELECT ${reviewColumns(this.database.dialect)} FROM ${REVIEWS}
      WHERE r.intent_id = ${intentId} ORDER BY r.state = 'OPEN' DESC, r.opened_at DESC, r.id DESC LIMIT ${MAX_ROWS}`;
    return oldestFirst(reviews, ({ openedAt }) => openedAt);
  }

  private async actions(targets: readonly string[]): Promise<RecordedAction[]> {
    const { dialect } = this.database;
    const newestFirst = await this.database.rows<RecordedAction>(ACTION_READERS)`
      SELECT ${actionColumns(dialect)} FROM payment_acceptance.operator_action a
      WHERE a.target ${dialect.oneOf(targets, 'text')} ORDER BY a.at DESC, a.id DESC LIMIT ${MAX_ROWS}`;
    return newestFirst.reverse();
  }
}

/** Rows of the same millisecond come in the reverse of their order. */
function oldestFirst<Row>(rows: readonly Row[], timeOf: (row: Row) => string): Row[] {
  return [...rows].reverse().sort((a, b) => (timeOf(a) < timeOf(b) ? -1 : Number(timeOf(a) > timeOf(b))));
}
