import type { DecimalAmount } from './money.js';
import type { BillId, IntentId, OrderId, PaymentId } from './ids.js';

/**
 * `status` of a payment (section 2.3, documented), in upper or lower case, with or without space around it. Any other
 * value is `UNKNOWN`.
 */
export type PaymentStatus = 'NEW' | 'PROCESS' | 'SUCCESS' | 'FAIL' | 'UNKNOWN';

export function statusOf(text: unknown): PaymentStatus {
  const status = typeof text === 'string' ? text.trim().toUpperCase() : '';
  return status === 'NEW' || status === 'PROCESS' || status === 'SUCCESS' || status === 'FAIL' ? status : 'UNKNOWN';
}

/** What a judge knows about a bill. */
export interface JudgedBill {
  readonly shop: string;
  readonly orderId: OrderId;
  readonly billId: BillId;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
}

/**
 * A payment as the service lists it (section 2.3). Amounts are canonical, or `null` if missing or not a decimal(10,2).
 */
export interface ReportedPayment {
  readonly paymentId: PaymentId;
  /** The bill that the payment belongs to according to the service; `null` if it names none. */
  readonly billId: BillId | null;
  readonly status: PaymentStatus;
  /** `status` as sent; `null` if it is not a string. */
  readonly statusText: string | null;
  readonly amount: DecimalAmount | null;
  readonly amountReceived: DecimalAmount | null;
  /** Not in the specification; read if the service sends it (assumed). */
  readonly commission: DecimalAmount | null;
  readonly currency: string | null;
  /** Masked: first six digits, six asterisks, last four. */
  readonly fromCard: string | null;
  /** `created_at` as sent; `null` if it could not be read. */
  readonly createdAtText: string | null;
  /** `created_at` as an instant, read in the shop's `timeZone`; `null` if it could not be read. */
  readonly createdAt: Date | null;
}

export interface PaymentList {
  readonly payments: readonly ReportedPayment[];
  /** Problems of entries that cannot be read, such as `data[1].id is missing`. */
  readonly problems: readonly string[];
}

/**
 * A payment in the ledger: one per payment id of a shop. Only settlement/ writes it, from the service's list or an
 * operator's decision, never from a callback. Its status only advances (NEW, PROCESS, UNKNOWN, FAIL, SUCCESS).
 */
export interface LedgerPayment extends Omit<ReportedPayment, 'billId' | 'createdAt' | 'statusText'> {
  readonly intentId: IntentId;
  /** `status` as the service last sent it; may differ from the status that the payment has advanced to. */
  readonly statusText: string | null;
  /** Digest of the latest listing that contradicts a SUCCESS or an operator's acceptance; `null` if none does. */
  readonly contradiction: string | null;
  readonly verdict: Verdict['kind'];
}

/** Why a payment or a bill is under review. */
export type ReviewReason =
  | 'wrong-currency'
  | 'amount-missing'
  | 'amount-not-positive'
  | 'underpaid'
  | 'overpaid'
  | 'foreign-bill'
  | 'second-payment'
  | 'order-cancelled'
  | 'payment-changed'
  | 'payment-moved'
  | 'too-many-payments'
  | 'unknown-status'
  | 'unfinished'
  | 'unreadable-payment'
  | 'uncheckable'
  /** A reason of the host's own judge: 1 to 100 characters on one line. */
  | (string & {});

/** What one listed payment means for its bill. */
export type Verdict =
  | { readonly kind: 'pending' }
  | { readonly kind: 'failed' }
  | {
      readonly kind: 'succeeded';
      /** Amount paid above the bill. */
      readonly surplus?: DecimalAmount;
      /** Opens this review in addition to the event. */
      readonly review?: ReviewReason;
    }
  | { readonly kind: 'review'; readonly reason: ReviewReason };

/**
 * Judges the listed payments of a bill: one verdict each, in the same order. Must be pure and total: same input, same
 * verdicts, no exceptions, no I/O. Called at every check; only the first final verdict on a payment counts.
 *
 * SUCCESS is `succeeded` or `review`, FAIL is `failed`, NEW and PROCESS are `pending`. `UNKNOWN` may be any of them:
 * tell such payments apart by `statusText`. Once such a payment has succeeded, no later verdict changes that; until
 * then, it is judged again if its status becomes SUCCESS.
 */
export type Judge = (bill: JudgedBill, payments: readonly ReportedPayment[]) => readonly Verdict[];
