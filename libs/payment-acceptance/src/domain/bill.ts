import type { DecimalAmount } from './money.js';
import type { BillId, IntentId, OrderId, PaymentId } from './ids.js';

/**
 * States of a bill of ours; the specification shows none (assumed). No callback ever changes the state of a bill.
 *
 * | state | meaning | set by |
 * |---|---|---|
 * | CREATING | the intent is stored, the service's answer is awaited | bills/, before the request is sent |
 * | OPEN | it can be paid; a failed payment leaves it open | bills/, on the answer to the creation, even a late one; an operator who attaches an UNKNOWN bill or imports one |
 * | REJECTED | the service made no bill | bills/: the service refused, or the request provably never left |
 * | UNKNOWN | the service may have made a bill | bills/: no answer was understood, or the process died |
 * | VOIDED | an operator found that an UNKNOWN bill was never made; the late answer to its creation proves otherwise | operations/ |
 * | PAID | a payment of it succeeded; final | settlement/ |
 * | EXPIRED | not paid within its lifetime, or no longer waited for; a late payment still makes it PAID | settlement/ |
 */
export type BillState = 'CREATING' | 'OPEN' | 'REJECTED' | 'UNKNOWN' | 'PAID' | 'EXPIRED' | 'VOIDED';

/** In the order in which they are shown. */
export const BILL_STATES: readonly BillState[] = [
  'CREATING',
  'OPEN',
  'PAID',
  'EXPIRED',
  'REJECTED',
  'UNKNOWN',
  'VOIDED',
];

/** A stored bill: one attempt to collect the payment of one order. */
export interface BillRecord {
  /** Id of our intent, a random UUID made before the request was sent. */
  readonly intentId: IntentId;
  readonly shop: string;
  /** The service's id of the shop for which the bill was made. */
  readonly shopId: string;
  readonly orderId: OrderId;
  /** 1 for the first bill of the order. */
  readonly attempt: number;
  readonly state: BillState;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
  readonly custom: string;
  /** Whether the shop supplied `custom`; otherwise it is `intentId`. */
  readonly customGiven: boolean;
  /** The service's `bill_id`; `null` until its answer is known. */
  readonly billId: BillId | null;
  readonly linkUrl: string | null;
  readonly linkPageUrl: string | null;
  /** Why the creation ended in `REJECTED` or `UNKNOWN`. */
  readonly failure: string | null;
  readonly createdAt: Date;
  readonly openedAt: Date | null;
  readonly paidAt: Date | null;
  /** Whether the creation's lease has ended. If the bill is still `CREATING` then, its creation has been abandoned. */
  readonly leaseEnded: boolean;
  /** Whether it will be checked again without a callback. */
  readonly isScheduled: boolean;
}

/** A locked bill, as settlement needs it. */
export interface LockedBill extends Omit<
  BillRecord,
  'billId' | 'openedAt' | 'linkUrl' | 'linkPageUrl' | 'failure' | 'createdAt' | 'leaseEnded' | 'isScheduled'
> {
  readonly billId: BillId;
  /** Whether its personal data is removed: `custom` is empty if the shop gave it, and nothing new is stored. */
  readonly redacted: boolean;
  readonly checks: number;
  readonly openedAt: Date;
  readonly endedAt: Date | null;
  readonly nextCheckAt: Date | null;
  /** The database's clock at the start of the transaction. */
  readonly now: Date;
}

export interface LockedOrder {
  /** The payment that paid the order first, if any. */
  readonly firstPaymentId: PaymentId | null;
  /** Whether the shop has cancelled the order: what is paid for it needs a person. */
  readonly cancelled: boolean;
}
