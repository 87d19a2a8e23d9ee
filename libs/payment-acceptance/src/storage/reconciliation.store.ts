import { Injectable } from '@nestjs/common';
import type { BillState } from '../domain/bill.js';
import type { DecimalAmount } from '../domain/money.js';
import type { PaymentStatus } from '../domain/payment.js';
import { Database } from './database.js';
import { epochMs, instant, type Texts } from './sql.js';
import type { BillId, IntentId, OrderId, PaymentId } from '../domain/ids.js';

/** A bill that may have had payments in a span of time. */
export interface BillToReconcile {
  readonly intentId: IntentId;
  readonly orderId: OrderId;
  /** The service's id. */
  readonly billId: BillId;
  readonly state: BillState;
  readonly openedAt: Date;
}

/** A payment as the ledger has it. */
export interface PaymentToReconcile {
  readonly paymentId: PaymentId;
  readonly status: PaymentStatus;
  readonly amount: DecimalAmount | null;
  readonly currency: string | null;
  /** The service's `created_at`, as it was sent. */
  readonly createdAtText: string | null;
  readonly firstSeenAt: Date;
  readonly verdict: string;
  /** Whether `payment.succeeded` has been made of it. */
  readonly succeeded: boolean;
}

export interface ReconciliationSpan {
  readonly shop: string;
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** Also bills that were paid or had expired before, and are still followed since a payment may come late. */
  readonly followedSince: Date | null;
}

/** Reads of what is held against the service's lists. Changes nothing. */
@Injectable()
export class ReconciliationStore {
  constructor(private readonly database: Database) {}

  /**
   * Bills that were open at some time of the span, or of which anything was heard then; at most `limit`, in the order of
   * their opening, after the one given.
   */
  async bills(span: ReconciliationSpan, after: BillToReconcile | undefined, limit: number): Promise<BillToReconcile[]> {
    const [from, to] = ['$2', '$3'].map((each) => `to_timestamp(${each}::double precision / 1000)`);
    const rows = await this.database.query<Texts<BillToReconcile, 'openedAt'>>(
      `SELECT b.id AS "intentId", b.order_id AS "orderId", b.service_bill_id AS "billId", b.state, ${epochMs('b.opened_at')} AS "openedAt"
       FROM payment_acceptance.bill b
       WHERE b.shop = $1 AND b.service_bill_id IS NOT NULL AND b.opened_at < ${to}
         AND (date_trunc('milliseconds', b.opened_at), b.id) >
           (to_timestamp($5::double precision / 1000), $6::uuid)
         AND (b.state = 'OPEN' OR b.ended_at >= ${from}
           OR b.ended_at >= to_timestamp($4::double precision / 1000)
           OR EXISTS (SELECT 1 FROM payment_acceptance.payment p WHERE p.bill_id = b.id
             AND (p.first_seen_at >= ${from} AND p.first_seen_at < ${to} OR p.changed_at >= ${from} AND p.changed_at < ${to}))
           OR EXISTS (SELECT 1 FROM payment_acceptance.callback c WHERE c.bill_id = b.id
             AND c.received_at >= ${from} AND c.received_at < ${to}))
       ORDER BY date_trunc('milliseconds', b.opened_at), b.id LIMIT $7`,
      [
        span.shop,
        span.from.getTime(),
        span.to.getTime(),
        span.followedSince?.getTime() ?? null,
        after?.openedAt.getTime() ?? 0,
        after?.intentId ?? '00000000-0000-0000-0000-000000000000',
        limit,
      ],
    );
    return rows.map((row) => ({ ...row, openedAt: instant(row.openedAt) }));
  }

  /** The ledger's payments of a bill. */
  async payments(intentId: IntentId): Promise<PaymentToReconcile[]> {
    const rows = await this.database.query<Texts<PaymentToReconcile, 'firstSeenAt'>>(
      `SELECT p.payment_id AS "paymentId", p.status, p.amount::text AS amount, p.currency,
         p.service_created_at AS "createdAtText", ${epochMs('p.first_seen_at')} AS "firstSeenAt", p.verdict,
         EXISTS (SELECT 1 FROM payment_acceptance.event e
           WHERE e.key = 'payment.succeeded:' || p.shop || ':' || p.payment_id) AS succeeded
       FROM payment_acceptance.payment p WHERE p.bill_id = $1 ORDER BY p.first_seen_at, p.payment_id`,
      [intentId],
    );
    return rows.map((row) => ({ ...row, firstSeenAt: instant(row.firstSeenAt) }));
  }
}
