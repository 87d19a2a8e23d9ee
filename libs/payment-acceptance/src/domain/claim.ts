import type { BillState, LockedBill } from './bill.js';
import type { Hint } from './callback.js';
import type { BillId, IntentId, OrderId, PaymentId } from './ids.js';

/**
 * A claim is a lease on a bill: one check of it, under a token of its own, until a moment on the database's clock. Whoever
 * checks takes it (the confirmer, or an operator who asks for a check) and gives it back; settlement/ takes an answer only
 * while its token is still the bill's. Once the lease has ended, another claim may replace the token.
 */
export interface ClaimedBill {
  readonly intentId: IntentId;
  readonly shop: string;
  readonly orderId: OrderId;
  readonly billId: BillId;
  readonly token: string;
  /** Due by its schedule, not only hinted at. */
  readonly scheduled: boolean;
  readonly failedChecks: number;
  readonly state: BillState;
  readonly openedAt: Date;
  readonly paidAt: Date | null;
  readonly endedAt: Date | null;
  /** The database's clock at the claim. */
  readonly now: Date;
  /** Where the bill's trace goes on. */
  readonly traceparent: string | null;
  /** The service refuses the shop, and this is the probe whether it still does. */
  readonly shopRefused: boolean;
  /** The callbacks that the coming check answers: those committed before it was asked. */
  readonly hints: readonly Hint[];
}

/** A locked bill, the claim that still holds of it, and the payment that paid its order before, if any. */
export interface LockedClaim {
  readonly token: string;
  readonly bill: LockedBill;
  readonly firstPaymentId: PaymentId | null;
}
