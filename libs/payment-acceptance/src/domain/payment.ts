import type { DecimalAmount } from './money.js';
import type { BillId, IntentId, OrderId, PaymentId } from './ids.js';

/** `status` of a payment (section 2.3, documented). Anything else the service sends is `UNKNOWN` to us. */
export type PaymentStatus = 'NEW' | 'PROCESS' | 'SUCCESS' | 'FAIL' | 'UNKNOWN';

/** What a judge knows of a bill. */
export interface JudgedBill {
  readonly shop: string;
  readonly orderId: OrderId;
  readonly billId: BillId;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
}

/** A payment as the service lists it (section 2.3). Amounts are canonical, or `null` where missing or no decimal(10,2). */
export interface ReportedPayment {
  readonly paymentId: PaymentId;
  /** The bill the service says the payment belongs to; `null` where it says nothing. */
  readonly billId: BillId | null;
  readonly status: PaymentStatus;
  /** `status` as sent; `null` where it is no text. */
  readonly statusText: string | null;
  readonly amount: DecimalAmount | null;
  readonly amountReceived: DecimalAmount | null;
  /** Not in the specification; read where the service sends it (assumed). */
  readonly commission: DecimalAmount | null;
  readonly currency: string | null;
  /** Masked: first six digits, six asterisks, last four. */
  readonly fromCard: string | null;
  /** `created_at` as sent, and as an instant by the shop's `timeZone`; `null` where it could not be read. */
  readonly createdAtText: string | null;
  readonly createdAt: Date | null;
}

/** The answer to a request for a bill's payments. */
export interface PaymentList {
  readonly payments: readonly ReportedPayment[];
  /** What is wrong with entries that cannot be read, such as `data[1].id is missing`. */
  readonly flaws: readonly string[];
}

/**
 * A payment of the ledger: one for each payment id of a shop. Only settlement/ writes it, as the service lists it or as an
 * operator accepts it, never as a callback says. Its status advances (UNKNOWN, NEW, PROCESS, FAIL, SUCCESS) and never goes
 * back.
 */
export interface LedgerPayment {
  readonly paymentId: PaymentId;
  /** Id of our bill. */
  readonly intentId: IntentId;
  readonly status: PaymentStatus;
  readonly amount: DecimalAmount | null;
  readonly amountReceived: DecimalAmount | null;
  readonly commission: DecimalAmount | null;
  readonly currency: string | null;
  readonly fromCard: string | null;
  readonly createdAtText: string | null;
  /** `status` as the service sent it last, which may be another one than that it has advanced to. */
  readonly statusText: string | null;
  readonly verdict: Verdict['kind'];
}

/** Why a payment waits for a person. */
export type ReviewReason =
  | 'wrong-currency'
  | 'amount-missing'
  | 'amount-not-positive'
  | 'underpaid'
  | 'overpaid'
  | 'foreign-bill'
  | 'second-payment'
  | 'payment-changed'
  | 'payment-moved'
  | 'too-many-payments'
  | 'unknown-status'
  | 'unfinished'
  | 'unreadable-payment'
  | 'uncheckable'
  /** Of a judge of the host's: 1 to 100 characters on one line. */
  | (string & {});

/** What one listed payment means for its bill. */
export type Verdict =
  | { readonly kind: 'pending' }
  | { readonly kind: 'failed' }
  | {
      readonly kind: 'succeeded';
      /** What was paid above the bill where the payer pays the commission. */
      readonly surplus?: DecimalAmount;
      /** Open this review beside the event. */
      readonly review?: ReviewReason;
    }
  | { readonly kind: 'review'; readonly reason: ReviewReason };

/**
 * Judges the listed payments of a bill: one verdict for each, in the same order. Must be pure and total: same input,
 * same verdicts, no exception, no I/O. It is asked at every check; only the first final verdict on a payment counts.
 */
export type Judge = (bill: JudgedBill, payments: readonly ReportedPayment[]) => readonly Verdict[];
