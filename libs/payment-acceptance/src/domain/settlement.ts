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

/** The end of a check, or an operator's decision: new state, next check, lease released. */
export interface BillChange {
  readonly state: BillState;
  readonly nextCheckAt: Date | null;
  /** Whether the service has answered: an operator's decision leaves the bill's count of failed checks as it is. */
  readonly answered: boolean;
  readonly scheduled: boolean;
}

/** What the settlement of one bill writes in one transaction. No other code writes payments, events or reviews. */
export interface Settlement {
  readonly bill: LockedBill;
  /** New payments, and those that have changed. */
  readonly payments: readonly LedgerPayment[];
  readonly events: readonly NewEvent[];
  readonly reviews: readonly NewReview[];
  /** The payment that pays the order for the first time, if any. */
  readonly firstPaymentId: PaymentId | null;
  /** Trace context that its events continue. */
  readonly traceparent: string | null;
  /** When the first callback that asserted an outcome came; `null` if none did. */
  readonly assertedAt: Date | null;
  /** `undefined` if the check has not ended. */
  readonly change: BillChange | undefined;
  readonly hints: AnsweredHints;
}
