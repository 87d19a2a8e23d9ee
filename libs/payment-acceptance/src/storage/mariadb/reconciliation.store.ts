import { Injectable } from '@nestjs/common';
import { epochMs, instant, type Texts } from '../sql.js';
import {
  ReconciliationStore,
  type BillToReconcile,
  type PaymentToReconcile,
  type ReconciliationSpan,
} from '../reconciliation.store.js';
import type { MariaDatabase } from './maria.database.js';
import type { IntentId } from '../../domain/ids.js';

const OPENED_MS = `TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', b.opened_at) DIV 1000`;

@Injectable()
export class MariaReconciliationStore extends ReconciliationStore {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  override async bills(
    span: ReconciliationSpan,
    after: BillToReconcile | undefined,
    limit: number,
  ): Promise<BillToReconcile[]> {
    const [from, to, since] = ['$2', '$3', '$4'].map((each) => `to_timestamp(${each} / 1000)`);
    const rows = await this.maria.query<Texts<BillToReconcile, 'openedAt'>>(
      `SELECT b.id AS "intentId", b.order_id AS "orderId", b.service_bill_id AS "billId", b.state, ${epochMs('b.opened_at')} AS "openedAt"
       FROM payment_acceptance.bill b
       WHERE b.shop = $1 AND b.service_bill_id IS NOT NULL AND b.opened_at < ${to}
         AND (${OPENED_MS} > $5 OR ${OPENED_MS} = $5 AND b.id > $6)
         AND (b.state = 'OPEN' OR b.ended_at >= ${from} OR b.ended_at >= ${since}
           OR EXISTS (SELECT 1 FROM payment_acceptance.payment p WHERE p.bill_id = b.id
             AND (p.first_seen_at >= ${from} AND p.first_seen_at < ${to} OR p.changed_at >= ${from} AND p.changed_at < ${to}))
           OR EXISTS (SELECT 1 FROM payment_acceptance.callback c WHERE c.bill_id = b.id
             AND c.received_at >= ${from} AND c.received_at < ${to}))
       ORDER BY ${OPENED_MS}, b.id LIMIT $7`,
      [
        span.shop,
        span.from.getTime(),
        span.to.getTime(),
        span.followedSince?.getTime() ?? null,
        after?.openedAt.getTime() ?? 0,
        after?.intentId ?? '',
        limit,
      ],
    );
    return rows.map((row) => ({ ...row, openedAt: instant(row.openedAt) }));
  }

  override async payments(intentId: IntentId): Promise<PaymentToReconcile[]> {
    const rows = await this.maria.query<Texts<PaymentToReconcile, 'firstSeenAt'>>(
      `SELECT p.payment_id AS "paymentId", p.status, p.amount::text AS amount, p.currency,
         p.service_created_at AS "createdAtText", ${epochMs('p.first_seen_at')} AS "firstSeenAt", p.verdict,
         EXISTS (SELECT 1 FROM payment_acceptance.event e
           WHERE e."key" = CONCAT('payment.succeeded:', p.shop, ':', p.payment_id)) AS succeeded
       FROM payment_acceptance.payment p WHERE p.bill_id = $1 ORDER BY p.first_seen_at, p.payment_id`,
      [intentId],
    );
    return rows.map((row) => ({ ...row, firstSeenAt: instant(row.firstSeenAt) }));
  }
}
