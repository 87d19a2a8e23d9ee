import { Injectable } from '@nestjs/common';
import type { BillState } from '../../domain/bill.js';
import type { LedgerPayment } from '../../domain/payment.js';
import { FIRST_UUID } from '../../domain/uuid.js';
import { Database } from '../../database/database.js';
import { flag, instant, type ColumnReaders } from '../../database/reading.js';
import { REPORT_STATEMENT_TIMEOUT_MS } from '../../database/statement-timeout.js';
import { rawSql, toSql, sql, type Expression, type Statement } from '../../database/statement.js';
import type { BillId, IntentId, OrderId, PaymentId } from '../../domain/ids.js';

export interface BillToReconcile {
  readonly intentId: IntentId;
  readonly orderId: OrderId;
  readonly billId: BillId;
  readonly state: BillState;
  readonly openedAt: Date;
}

export interface PaymentToReconcile extends Pick<
  LedgerPayment,
  'paymentId' | 'status' | 'amount' | 'currency' | 'createdAtText'
> {
  readonly firstSeenAt: Date;
  readonly verdict: string;
  readonly succeeded: boolean;
}

export interface LedgerPaymentOfBill extends PaymentToReconcile {
  readonly orderId: OrderId;
  readonly billId: BillId;
  readonly billState: BillState;
}

export type StatementBill = Pick<BillToReconcile, 'billId' | 'orderId' | 'state'>;

export interface ReconciliationSpan {
  readonly shop: string;
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** The same day on the service's clock, as `YYYY-MM-DD`: a payment made then may have become known later. */
  readonly day: string;
  /**
   * If set, also includes bills that ended at this time or later: they are still checked, because a payment may come
   * late.
   */
  readonly followedSince: Date | null;
}

const PAYMENT_READERS: ColumnReaders<PaymentToReconcile> = { firstSeenAt: instant, succeeded: flag };

@Injectable()
export class ReconciliationStore {
  constructor(private readonly database: Database) {}

  /**
   * Bills that were open during the period, or that had a payment made, first seen or changed, or a callback received,
   * in it; in the order of their opening.
   */
  bills(span: ReconciliationSpan, after: BillToReconcile | undefined, limit: number): Promise<BillToReconcile[]> {
    const { dialect } = this.database;
    const [from, to] = [dialect.instant(span.from.getTime()), dialect.instant(span.to.getTime())];
    const within = (column: Expression) => sql`${toSql(column)} >= ${from} AND ${toSql(column)} < ${to}`;
    const openedAt = dialect.epochMs('b.opened_at');
    const afterMs = after?.openedAt.getTime() ?? 0;
    const followed = span.followedSince
      ? sql`OR b.ended_at >= ${dialect.instant(span.followedSince.getTime())}`
      : rawSql('');
    return this.database.withTimeout(REPORT_STATEMENT_TIMEOUT_MS).rows<BillToReconcile>({ openedAt: instant })`
      SELECT b.intent_id AS "intentId", b.order_id AS "orderId", b.bill_id AS "billId", b.state,
        ${openedAt} AS "openedAt"
      FROM payment_acceptance.bill b
      WHERE b.shop = ${span.shop} AND b.bill_id IS NOT NULL
        AND (${openedAt} > ${afterMs} OR ${openedAt} = ${afterMs} AND b.intent_id > ${after?.intentId ?? FIRST_UUID})
        AND (b.created_at < ${to} AND (b.state = 'OPEN' OR b.ended_at >= ${from} ${followed})
          OR EXISTS (SELECT 1 FROM payment_acceptance.payment p WHERE p.intent_id = b.intent_id
            AND (${within('p.first_seen_at')} OR ${within('p.changed_at')}
              OR p.service_created_at LIKE ${`${span.day}%`}))
          OR EXISTS (SELECT 1 FROM payment_acceptance.callback c WHERE c.intent_id = b.intent_id AND ${within('c.received_at')}))
      ORDER BY ${openedAt}, b.intent_id LIMIT ${limit}`;
  }

  payments(intentId: IntentId): Promise<PaymentToReconcile[]> {
    return this.database.rows<PaymentToReconcile>(PAYMENT_READERS)`
      SELECT ${this.paymentColumns()} FROM payment_acceptance.payment p WHERE p.intent_id = ${intentId}
      ORDER BY p.first_seen_at, p.payment_id`;
  }

  paymentsNamed(shop: string, paymentIds: readonly PaymentId[]): Promise<LedgerPaymentOfBill[]> {
    const named = this.database.dialect.oneOf(paymentIds, 'text');
    return this.paymentsOfBills(sql`p.shop = ${shop} AND p.payment_id ${named}`);
  }

  /** Payments first seen at `from` or later, ordered by id. */
  paymentsSeen(shop: string, from: Date, after: PaymentId, limit: number): Promise<LedgerPaymentOfBill[]> {
    const since = this.database.dialect.instant(from.getTime());
    return this.paymentsOfBills(
      sql`p.shop = ${shop} AND p.payment_id > ${after} AND p.first_seen_at >= ${since} ORDER BY p.payment_id LIMIT ${limit}`,
    );
  }

  billsNamed(shop: string, billIds: readonly BillId[]): Promise<StatementBill[]> {
    return this.database.rows<StatementBill>({})`
      SELECT b.bill_id AS "billId", b.order_id AS "orderId", b.state FROM payment_acceptance.bill b
      WHERE b.shop = ${shop} AND b.bill_id ${this.database.dialect.oneOf(billIds, 'text')}`;
  }

  private paymentsOfBills(condition: Statement): Promise<LedgerPaymentOfBill[]> {
    return this.database.withTimeout(REPORT_STATEMENT_TIMEOUT_MS).rows<LedgerPaymentOfBill>(PAYMENT_READERS)`
      SELECT ${this.paymentColumns()}, b.order_id AS "orderId", b.bill_id AS "billId", b.state AS "billState"
      FROM payment_acceptance.payment p JOIN payment_acceptance.bill b ON b.intent_id = p.intent_id WHERE ${condition}`;
  }

  private paymentColumns(): Statement {
    const { dialect } = this.database;
    return sql`p.payment_id AS "paymentId", p.status, ${dialect.text('p.amount')} AS amount, p.currency,
      p.service_created_at AS "createdAtText", ${dialect.epochMs('p.first_seen_at')} AS "firstSeenAt", p.verdict,
      EXISTS (SELECT 1 FROM payment_acceptance.event e
        WHERE e.key = concat('payment.succeeded:', p.shop, ':', p.payment_id)) AS succeeded`;
  }
}
