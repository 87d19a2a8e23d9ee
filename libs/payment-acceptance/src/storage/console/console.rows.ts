import type { BillState } from '../../domain/bill.js';
import type { PaymentStatus } from '../../domain/payment.js';
import type { Dialect } from '../dialect.js';
import { flag, integer, json, type Reading } from '../reading.js';
import { sql, type Statement } from '../statement.js';
import type { BillId, IntentId, OrderId, PaymentId } from '../../domain/ids.js';

/** A bill in a list. */
export interface ConsoleBill {
  readonly intentId: IntentId;
  readonly shop: string;
  readonly orderId: OrderId;
  readonly attempt: number;
  /** The service's `bill_id`. */
  readonly billId: BillId | null;
  readonly state: BillState;
  readonly amount: string;
  readonly currency: string;
  readonly failure: string | null;
  readonly createdAt: string;
}

/** What is selected for a {@link ConsoleBill} of the bill `b`. */
export const billColumns = ({ text, iso }: Dialect): Statement =>
  sql`b.id AS "intentId", b.shop, b.order_id AS "orderId", b.attempt, b.service_bill_id AS "billId", b.state,
  ${text('b.amount')} AS amount, b.currency, b.failure, ${iso('b.created_at')} AS "createdAt"`;

export const BILL = { attempt: integer } satisfies Reading<ConsoleBill>;

export interface ConsoleReview {
  readonly id: string;
  readonly intentId: IntentId;
  readonly shop: string;
  readonly orderId: OrderId;
  readonly billId: BillId | null;
  readonly paymentId: PaymentId | null;
  readonly reason: string;
  readonly state: 'OPEN' | 'ACCEPTED' | 'DISMISSED';
  readonly detail: ReviewDetail;
  /** Currency of the bill. */
  readonly currency: string;
  /** Whether the payment has had its `payment.succeeded` already. */
  readonly succeeded: boolean;
  /** Status of the payment in the ledger by now; `null` where it has none of it. */
  readonly ledgerStatus: PaymentStatus | null;
  /** Of the newest review of the payment, which may be this one; `null` where this one is about its bill as a whole. */
  readonly newest: ReviewDetail | null;
  readonly openedAt: string;
  readonly closedAt: string | null;
  readonly closedBy: string | null;
}

/** What the service listed, beside what was billed. */
export interface ReviewDetail {
  readonly billed?: { readonly amount: string; readonly currency: string };
  readonly listed?: {
    readonly status: string | null;
    readonly amount: string | null;
    readonly amountReceived: string | null;
    readonly currency: string | null;
    readonly billId: BillId | null;
  };
}

/** What is selected for a {@link ConsoleReview} of the review `r` and its bill `b`. */
export const reviewColumns = ({ text, iso }: Dialect): Statement =>
  sql`r.id, r.bill_id AS "intentId", r.shop, r.order_id AS "orderId", b.service_bill_id AS "billId",
  r.payment_id AS "paymentId", r.reason, r.state, ${text('r.detail')} AS detail, b.currency, EXISTS (
    SELECT 1 FROM payment_acceptance.payment p WHERE p.shop = r.shop AND p.payment_id = r.payment_id
      AND p.bill_id = r.bill_id AND p.verdict = 'succeeded') AS succeeded,
  (SELECT p.status FROM payment_acceptance.payment p WHERE p.shop = r.shop AND p.payment_id = r.payment_id)
    AS "ledgerStatus",
  (SELECT ${text('n.detail')} FROM payment_acceptance.review n WHERE n.bill_id = r.bill_id AND n.payment_id = r.payment_id
    ORDER BY n.opened_at DESC, n.id LIMIT 1) AS newest,
  ${iso('r.opened_at')} AS "openedAt", ${iso('r.closed_at')} AS "closedAt", r.closed_by AS "closedBy"`;

export const REVIEW: Reading<ConsoleReview> = { detail: json, succeeded: flag, newest: json };

export interface ConsoleAction {
  readonly id: string;
  readonly at: string;
  readonly operator: string;
  readonly action: string;
  /** Id of the intent, the review or the delivery that it was about. */
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** What is selected for a {@link ConsoleAction} of the action `a`. */
export const actionColumns = ({ text, iso }: Dialect): Statement =>
  sql`a.id, ${iso('a.at')} AS at, a.operator, a.action, a.target, ${text('a.detail')} AS detail`;

export const ACTION: Reading<ConsoleAction> = { detail: json };

/** Rows of one page: a full one weighs less than 50 KB, whatever it lists. */
export const PAGE = 20;

export interface Paged<Row> {
  readonly rows: readonly Row[];
  readonly more: boolean;
}

/** A page of rows, read with one more than it shows. */
export function pageOf<Row>(rows: readonly Row[]): Paged<Row> {
  return { rows: rows.slice(0, PAGE), more: rows.length > PAGE };
}
