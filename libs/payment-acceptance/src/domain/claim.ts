import type { LockedBill, LockedOrder } from './bill.js';
import type { Hint } from './callback.js';
import type { BillId, IntentId, OrderId } from './ids.js';

/** The states of a bill that can be claimed: the service has made it, and payments may come. */
export type ClaimableState = 'OPEN' | 'PAID' | 'EXPIRED';

/**
 * A claim is a lease on a bill for one check. It has its own token and expires on the database's clock. Whoever checks
 * (the confirmer, or an operator who requests a check) acquires and releases it; settlement/ accepts an answer only
 * while the claim's token is still that of the bill. Once the lease has expired, another claim may replace the token.
 */
export interface ClaimedBill {
  readonly intentId: IntentId;
  readonly shop: string;
  readonly orderId: OrderId;
  readonly billId: BillId;
  readonly token: string;
  /** Whether the bill is due by its schedule, not only because of a hint. */
  readonly scheduled: boolean;
  readonly failedChecks: number;
  readonly state: ClaimableState;
  readonly openedAt: Date;
  readonly paidAt: Date | null;
  readonly endedAt: Date | null;
  /** The database's clock at the claim. */
  readonly now: Date;
  /** Trace context of the bill, which the check continues. */
  readonly traceparent: string | null;
  /** Whether the service refuses the shop; this check then probes whether it still does. */
  readonly shopRefused: boolean;
  /** The callbacks that the check answers: those committed before the claim. */
  readonly hints: readonly Hint[];
}

export interface LockedClaim {
  readonly token: string;
  readonly bill: LockedBill;
  readonly order: LockedOrder;
}
