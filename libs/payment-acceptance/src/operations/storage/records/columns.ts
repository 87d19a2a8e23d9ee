import type { BillSummary, RecordedAction, RecordedReview, RecordPage } from '../../records.js';
import type { Dialect } from '../../../database/dialect.js';
import { flag, integer, json, type ColumnReaders } from '../../../database/reading.js';
import { sql, type Statement } from '../../../database/statement.js';

/** Selects from the bill `b`. */
export const summaryColumns = ({ text, iso }: Dialect): Statement =>
  sql`b.intent_id AS "intentId", b.shop, b.order_id AS "orderId", b.attempt, b.bill_id AS "billId", b.state,
  ${text('b.amount')} AS amount, b.currency, b.failure, ${iso('b.created_at')} AS "createdAt"`;

export const SUMMARY_READERS = { attempt: integer } satisfies ColumnReaders<BillSummary>;

/** The review `r`, its bill `b` and its order `o`. */
export const REVIEWS = sql`payment_acceptance.review r JOIN payment_acceptance.bill b ON b.intent_id = r.intent_id
  JOIN payment_acceptance.shop_order o ON o.shop = r.shop AND o.order_id = r.order_id`;

/** Selects from {@link REVIEWS}. */
export const reviewColumns = ({ text, iso }: Dialect): Statement =>
  sql`r.id, r.intent_id AS "intentId", r.shop, r.order_id AS "orderId", b.bill_id AS "billId",
  r.payment_id AS "paymentId", r.reason, r.state, ${text('r.detail')} AS detail, b.currency, EXISTS (
    SELECT 1 FROM payment_acceptance.payment p WHERE p.shop = r.shop AND p.payment_id = r.payment_id
      AND p.intent_id = r.intent_id AND p.verdict = 'succeeded') AS succeeded,
  (SELECT CASE WHEN p.status = 'FAIL' AND p.verdict = 'review' THEN 'UNKNOWN' ELSE p.status END
    FROM payment_acceptance.payment p WHERE p.shop = r.shop AND p.payment_id = r.payment_id) AS "ledgerStatus",
  (SELECT ${text('n.detail')} FROM payment_acceptance.review n WHERE n.intent_id = r.intent_id AND n.payment_id = r.payment_id
    ORDER BY n.opened_at DESC, n.id LIMIT 1) AS newest,
  o.first_payment_id AS "orderPaymentId", ${iso('o.cancelled_at')} AS "orderCancelledAt",
  ${iso('r.opened_at')} AS "openedAt", ${iso('r.closed_at')} AS "closedAt", r.closed_by AS "closedBy"`;

export const REVIEW_READERS: ColumnReaders<RecordedReview> = { detail: json, succeeded: flag, newest: json };

/** Selects from the action `a`. */
export const actionColumns = ({ text, iso }: Dialect): Statement =>
  sql`a.id, ${iso('a.at')} AS at, a.operator, a.action, a.target, ${text('a.detail')} AS detail`;

export const ACTION_READERS: ColumnReaders<RecordedAction> = { detail: json };

/** A full page is smaller than 50 KB, whatever it lists. */
export const PAGE_SIZE = 20;

/** @param rows one more than the page shows, to tell whether there are more */
export function pageOf<Row>(rows: readonly Row[]): RecordPage<Row> {
  return { rows: rows.slice(0, PAGE_SIZE), more: rows.length > PAGE_SIZE };
}
