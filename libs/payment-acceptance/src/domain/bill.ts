import type { DecimalAmount } from './money.js';
import type { BillId, IntentId, OrderId } from './ids.js';

/**
 * States of a bill of ours; the specification shows none (assumed). No callback ever changes one.
 *
 * | state | meaning | who brings a bill there |
 * |---|---|---|
 * | CREATING | the intent is stored, the service's answer is awaited | bills/, before the request is sent |
 * | OPEN | it can be paid; a failed payment leaves it so | bills/ with the creation's own answer, also a late one; an operator who attaches an UNKNOWN one, or imports one |
 * | REJECTED | no bill was made | bills/: the service refused it, or the request provably never left |
 * | UNKNOWN | one may have been made | bills/: no answer was understood, or the process never came back |
 * | VOIDED | an operator has found that none was made | operations/, an UNKNOWN one |
 * | PAID | a payment of it has succeeded; it stays so | settlement/ |
 * | EXPIRED | not paid within its lifetime; a late payment makes it PAID all the same | settlement/ |
 */
export type BillState = 'CREATING' | 'OPEN' | 'REJECTED' | 'UNKNOWN' | 'PAID' | 'EXPIRED' | 'VOIDED';

/** In the order of a bill's life. */
export const BILL_STATES: readonly BillState[] = [
  'CREATING',
  'OPEN',
  'PAID',
  'EXPIRED',
  'REJECTED',
  'UNKNOWN',
  'VOIDED',
];

/** A bill as we keep it: one attempt to have one order paid. */
export interface BillRecord {
  /** Id of our intent, a random UUID made before the request was sent. */
  readonly intentId: IntentId;
  readonly shop: string;
  readonly orderId: OrderId;
  /** 1 for the first bill of the order. */
  readonly attempt: number;
  readonly state: BillState;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
  readonly custom: string;
  /** Whether `custom` is the shop's own; otherwise it is `intentId`. */
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
  /** A creation that is still `CREATING` after this moment never ended. */
  readonly leaseEnded: boolean;
}

/** The locked bill, as settlement needs it. */
export interface LockedBill {
  readonly intentId: IntentId;
  readonly shop: string;
  readonly orderId: OrderId;
  readonly attempt: number;
  readonly billId: BillId;
  readonly state: BillState;
  readonly amount: DecimalAmount;
  readonly currency: string;
  readonly payerPaysCommission: boolean;
  readonly custom: string;
  readonly customGiven: boolean;
  readonly checks: number;
  readonly openedAt: Date;
  readonly paidAt: Date | null;
  readonly endedAt: Date | null;
  readonly nextCheckAt: Date | null;
  /** The database's clock at the start of the transaction. */
  readonly now: Date;
}
