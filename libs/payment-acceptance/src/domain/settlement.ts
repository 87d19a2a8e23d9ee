import type { BillState, LockedBill } from './bill.js';
import type { AnsweredHints } from './callback.js';
import type { LedgerPayment } from './payment.js';
import type { PaymentId } from './ids.js';

export interface NewReview {
  readonly id: string;
  readonly key: string;
  readonly paymentId: PaymentId | null;
  readonly reason: string;
  readonly detail: object;
}

export interface NewEvent {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly payload: object;
}

/** The end of a check that was answered: new state, next check, lease given back. */
export interface BillChange {
  readonly state: BillState;
  readonly nextCheckAt: Date | null;
  readonly scheduled: boolean;
}

/** All that the settlement of one bill writes, in one transaction: payments, events and reviews come from nowhere else. */
export interface Settlement {
  readonly bill: LockedBill;
  /** The payments that are new or have advanced. */
  readonly payments: readonly LedgerPayment[];
  readonly events: readonly NewEvent[];
  readonly reviews: readonly NewReview[];
  /** The payment that pays the order for the first time, if any. */
  readonly firstPaymentId: PaymentId | null;
  /** Where the trace goes on that its events come from. */
  readonly traceparent: string | null;
  /** When the first callback came whose assertion its events answer; `null` where none has asserted anything. */
  readonly assertedAt: Date | null;
  /** `undefined` where the check goes on. */
  readonly change: BillChange | undefined;
  readonly hints: AnsweredHints;
}
