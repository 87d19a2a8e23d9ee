import { Injectable } from '@nestjs/common';
import type {
  LedgerBill,
  LedgerCallback,
  LedgerEntry,
  LedgerEvent,
  LedgerReview,
  PaymentLedger,
} from '../records/ledger.js';
import { Database } from '../../database/database.js';
import { flag, integer, json } from '../../database/reading.js';
import { ofScope } from '../../database/scope.js';
import type { ShopScope } from '../../domain/shop-scope.js';
import { LONG_STATEMENT_MS } from '../../database/statement-limit.js';
import { sql, type Statement } from '../../database/statement.js';

/** Reads everything recorded, for people and for comparison. Read-only. */
@Injectable()
export class LedgerStore {
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

  /** Undecided reviews, oldest first, at most `limit`. */
  openReviews(limit: number, scope: ShopScope): Promise<LedgerReview[]> {
    return this.reviews(sql`r.state = 'OPEN' AND ${ofScope('r.shop', scope)} ORDER BY r.opened_at, r.id`, limit);
  }

  private bills(limit: number, scope: ShopScope): Promise<LedgerBill[]> {
    const { dialect } = this.database;
    return this.database.rows<LedgerBill>(
      sql`SELECT id AS "intentId", shop, order_id AS "orderId", attempt, service_bill_id AS "billId", state,
         ${dialect.text('amount')} AS amount, currency, failure, ${dialect.iso('created_at')} AS "createdAt",
         ${dialect.iso('checked_at')} AS "checkedAt", ${dialect.iso('next_check_at')} AS "nextCheckAt",
         last_check_error AS "lastCheckError"
       FROM payment_acceptance.bill WHERE ${ofScope('shop', scope)} ORDER BY created_at DESC, id LIMIT ${limit}`.withTime(
        LONG_STATEMENT_MS,
      ),
      { attempt: integer },
    );
  }

  private payments(limit: number, scope: ShopScope): Promise<LedgerEntry[]> {
    const { dialect } = this.database;
    return this.database.rows<LedgerEntry>(
      sql`SELECT p.shop, p.payment_id AS "paymentId", b.order_id AS "orderId", b.service_bill_id AS "billId", p.status,
         ${dialect.text('p.amount')} AS amount, ${dialect.text('p.amount_received')} AS "amountReceived", p.currency,
         p.from_card AS "fromCard", p.verdict, ${dialect.iso('p.first_seen_at')} AS "firstSeenAt"
       FROM payment_acceptance.payment p JOIN payment_acceptance.bill b ON b.id = p.bill_id
       WHERE ${ofScope('p.shop', scope)} ORDER BY p.first_seen_at DESC, p.payment_id LIMIT ${limit}`.withTime(
        LONG_STATEMENT_MS,
      ),
      {},
    );
  }

  private callbacks(limit: number, scope: ShopScope): Promise<LedgerCallback[]> {
    const { dialect } = this.database;
    return this.database.rows<LedgerCallback>(
      sql`SELECT c.id, c.kind, c.shop, b.service_bill_id AS "billId", c.order_id AS "orderId",
         c.service_bill_id AS "trsId", c.status, c.digest, ${dialect.text('c.corroboration')} AS corroboration, c.pending,
         c.asks, c.outcome, ${dialect.iso('c.received_at')} AS "receivedAt"
       FROM payment_acceptance.callback c LEFT JOIN payment_acceptance.bill b ON b.id = c.bill_id
       WHERE ${ofScope('c.shop', scope)} ORDER BY c.received_at DESC, c.id LIMIT ${limit}`.withTime(LONG_STATEMENT_MS),
      { corroboration: json, pending: flag, asks: integer },
    );
  }

  private events(limit: number, scope: ShopScope): Promise<LedgerEvent[]> {
    const { dialect } = this.database;
    const deliveries = dialect.jsonArray(
      { consumer: 'd.consumer', state: 'd.state', attempts: 'd.attempts', lastError: 'd.last_error' },
      'd.consumer',
    );
    return this.database.rows<LedgerEvent>(
      sql`SELECT e.id, e.name, e.shop, b.order_id AS "orderId", b.service_bill_id AS "billId",
         ${dialect.jsonText('e.payload', 'paymentId')} AS "paymentId", ${dialect.iso('e.occurred_at')} AS "occurredAt",
         (SELECT ${deliveries} FROM payment_acceptance.delivery d WHERE d.event_id = e.id) AS deliveries
       FROM payment_acceptance.event e JOIN payment_acceptance.bill b ON b.id = e.bill_id
       WHERE ${ofScope('e.shop', scope)} ORDER BY e.seq DESC LIMIT ${limit}`.withTime(LONG_STATEMENT_MS),
      { deliveries: json },
    );
  }

  private reviews(which: Statement, limit: number): Promise<LedgerReview[]> {
    const { dialect } = this.database;
    return this.database.rows<LedgerReview>(
      sql`SELECT r.id, r.shop, r.order_id AS "orderId", b.service_bill_id AS "billId", r.payment_id AS "paymentId",
         r.reason, r.state, ${dialect.text('r.detail')} AS detail, ${dialect.iso('r.opened_at')} AS "openedAt"
       FROM payment_acceptance.review r JOIN payment_acceptance.bill b ON b.id = r.bill_id WHERE ${which} LIMIT ${limit}`.withTime(
        LONG_STATEMENT_MS,
      ),
      { detail: json },
    );
  }
}
