import type { INestApplicationContext } from '@nestjs/common';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { flag, integer, json } from '../../libs/payment-acceptance/src/database/reading.js';
import { ofScope, type ShopScope } from '../../libs/payment-acceptance/src/database/scope.js';
import { sql, type Statement } from '../../libs/payment-acceptance/src/database/statement.js';
import type { BillRecord, BillState } from '../../libs/payment-acceptance/src/domain/bill.js';
import type { DeliveryState } from '../../libs/payment-acceptance/src/operations/records.js';

/** What the module has recorded, newest first and limited: bills, payments, callbacks, events, reviews. */
export interface PaymentLedger {
  readonly bills: readonly LedgerBill[];
  readonly payments: readonly LedgerEntry[];
  readonly callbacks: readonly LedgerCallback[];
  readonly events: readonly LedgerEvent[];
  readonly reviews: readonly LedgerReview[];
}

export interface LedgerBill extends Pick<
  BillRecord,
  'shop' | 'orderId' | 'attempt' | 'billId' | 'amount' | 'currency'
> {
  readonly intentId: string;
  readonly state: BillState;
  readonly failure: string | null;
  readonly createdAt: string;
  readonly checkedAt: string | null;
  readonly nextCheckAt: string | null;
  readonly lastCheckError: string | null;
}

export interface LedgerEntry {
  readonly shop: string;
  readonly paymentId: string;
  readonly orderId: string;
  readonly billId: string;
  readonly status: string;
  readonly amount: string | null;
  readonly amountReceived: string | null;
  readonly currency: string | null;
  readonly fromCard: string | null;
  readonly verdict: string;
  readonly firstSeenAt: string;
}

export interface LedgerCallback {
  readonly id: string;
  readonly kind: string;
  readonly shop: string;
  /** The bill it was matched with; `null` if it names none of ours. */
  readonly billId: string | null;
  /** What it asserts. */
  readonly orderId: string | null;
  readonly trsId: string | null;
  readonly status: string | null;
  readonly digest: string;
  /** `match`, `mismatch` or `absent` for `order`, `amount`, `currency` and `custom`; without `custom` if the bill's was removed. */
  readonly corroboration: Readonly<Record<string, string>>;
  readonly pending: boolean;
  /** How often the service was asked again because its list did not yet show the payment. */
  readonly asks: number;
  /** Whether the service's list showed what the postback asserts; `null` until then, and for callbacks that assert nothing. */
  readonly outcome: 'confirmed' | 'unconfirmed' | null;
  readonly receivedAt: string;
}

export interface LedgerEvent {
  readonly id: string;
  readonly name: string;
  readonly shop: string;
  readonly orderId: string;
  readonly billId: string;
  readonly paymentId: string | null;
  readonly occurredAt: string;
  readonly deliveries: readonly LedgerDelivery[];
}

export interface LedgerDelivery {
  readonly consumer: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly lastError: string | null;
}

export interface LedgerReview {
  readonly id: string;
  readonly shop: string;
  readonly orderId: string;
  readonly billId: string;
  readonly paymentId: string | null;
  readonly reason: string;
  readonly state: 'OPEN' | 'ACCEPTED' | 'DISMISSED';
  readonly detail: object;
  readonly openedAt: string;
}

/** At most 1,000 rows of each kind. */
export function readLedger(app: INestApplicationContext, shop: ShopScope = null): Promise<PaymentLedger> {
  return new LedgerReader(app.get(Database, { strict: false })).read(1_000, shop);
}

export class LedgerReader {
  constructor(private readonly database: Database) {}

  /** At most `limit` rows of each kind. */
  async read(limit: number, scope: ShopScope): Promise<PaymentLedger> {
    const [bills, payments, callbacks, events, reviews] = await Promise.all([
      this.bills(limit, scope),
      this.payments(limit, scope),
      this.callbacks(limit, scope),
      this.events(limit, scope),
      this.reviews(sql`${ofScope('r.shop', scope)} ORDER BY r.opened_at DESC, r.id`, limit),
    ]);
    return { bills, payments, callbacks, events, reviews };
  }

  private bills(limit: number, scope: ShopScope): Promise<LedgerBill[]> {
    const { dialect } = this.database;
    return this.database.rows<LedgerBill>({ attempt: integer })`
      SELECT intent_id AS "intentId", shop, order_id AS "orderId", attempt, bill_id AS "billId", state,
        ${dialect.text('amount')} AS amount, currency, failure, ${dialect.iso('created_at')} AS "createdAt",
        ${dialect.iso('checked_at')} AS "checkedAt", ${dialect.iso('next_check_at')} AS "nextCheckAt",
        last_check_error AS "lastCheckError"
      FROM payment_acceptance.bill WHERE ${ofScope('shop', scope)} ORDER BY created_at DESC, intent_id LIMIT ${limit}`;
  }

  private payments(limit: number, scope: ShopScope): Promise<LedgerEntry[]> {
    const { dialect } = this.database;
    return this.database.rows<LedgerEntry>({})`
      SELECT p.shop, p.payment_id AS "paymentId", b.order_id AS "orderId", b.bill_id AS "billId", p.status,
        ${dialect.text('p.amount')} AS amount, ${dialect.text('p.amount_received')} AS "amountReceived", p.currency,
        p.from_card AS "fromCard", p.verdict, ${dialect.iso('p.first_seen_at')} AS "firstSeenAt"
      FROM payment_acceptance.payment p JOIN payment_acceptance.bill b ON b.intent_id = p.intent_id
      WHERE ${ofScope('p.shop', scope)} ORDER BY p.first_seen_at DESC, p.payment_id LIMIT ${limit}`;
  }

  private callbacks(limit: number, scope: ShopScope): Promise<LedgerCallback[]> {
    const { dialect } = this.database;
    return this.database.rows<LedgerCallback>({ corroboration: json, pending: flag, asks: integer })`
      SELECT c.id, c.kind, c.shop, b.bill_id AS "billId", c.order_id AS "orderId",
        c.bill_id AS "trsId", c.status, c.digest, ${dialect.text('c.corroboration')} AS corroboration, c.pending,
        c.asks, c.outcome, ${dialect.iso('c.received_at')} AS "receivedAt"
      FROM payment_acceptance.callback c LEFT JOIN payment_acceptance.bill b ON b.intent_id = c.intent_id
      WHERE ${ofScope('c.shop', scope)} ORDER BY c.received_at DESC, c.id LIMIT ${limit}`;
  }

  private async events(limit: number, scope: ShopScope): Promise<LedgerEvent[]> {
    const { dialect } = this.database;
    const events = await this.database.rows<Omit<LedgerEvent, 'deliveries'>>({})`
      SELECT e.id, e.name, e.shop, b.order_id AS "orderId", b.bill_id AS "billId",
        ${dialect.jsonText('e.payload', 'paymentId')} AS "paymentId", ${dialect.iso('e.occurred_at')} AS "occurredAt"
      FROM payment_acceptance.event e JOIN payment_acceptance.bill b ON b.intent_id = e.intent_id
      WHERE ${ofScope('e.shop', scope)} ORDER BY e.seq DESC LIMIT ${limit}`;
    const ids = events.map(({ id }) => id);
    const deliveries = await this.database.rows<LedgerEvent['deliveries'][number] & { eventId: string }>({
      attempts: integer,
    })`
      SELECT d.event_id AS "eventId", d.consumer, d.state, d.attempts, d.last_error AS "lastError"
      FROM payment_acceptance.delivery d WHERE d.event_id ${dialect.oneOf(ids, 'uuid')} ORDER BY d.consumer`;
    return events.map((event) => ({
      ...event,
      deliveries: deliveries.flatMap(({ eventId, ...delivery }) => (eventId === event.id ? [delivery] : [])),
    }));
  }

  private reviews(which: Statement, limit: number): Promise<LedgerReview[]> {
    const { dialect } = this.database;
    return this.database.rows<LedgerReview>({ detail: json })`
      SELECT r.id, r.shop, r.order_id AS "orderId", b.bill_id AS "billId", r.payment_id AS "paymentId",
        r.reason, r.state, ${dialect.text('r.detail')} AS detail, ${dialect.iso('r.opened_at')} AS "openedAt"
      FROM payment_acceptance.review r JOIN payment_acceptance.bill b ON b.intent_id = r.intent_id WHERE ${which} LIMIT ${limit}`;
  }
}
