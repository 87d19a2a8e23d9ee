import type { BillState } from '../../domain/bill.js';
import type { CallbackKind, DigestCheck } from '../../domain/callback.js';
import type { BillId, DeliveryId, IntentId, OrderId, PaymentId } from '../../domain/ids.js';
import type { PaymentStatus } from '../../domain/payment.js';

/**
 * States of a delivery: one event on its way to one consumer.
 *
 * | state | meaning | set by |
 * |---|---|---|
 * | PENDING | not delivered yet: waits for its turn or its next attempt, or is leased while an attempt runs | settlement/, with its event; an operator who replays a dead letter or delivers past events |
 * | DONE | delivered | events/: in the handler's own transaction, or after a consumer without one has returned |
 * | DEAD | a dead letter: its attempts are used up, or the handler threw a PaymentNonRetryableError | events/ |
 */
export type DeliveryState = 'PENDING' | 'DONE' | 'DEAD';

/*
 * Records as shown to people. Times are ISO 8601 in UTC, amounts decimal strings such as `100.05`. Nothing here is secret.
 */

/** A bill in a list. */
export interface BillSummary {
  readonly intentId: IntentId;
  readonly shop: string;
  readonly orderId: OrderId;
  /** 1 for the first bill of the order. */
  readonly attempt: number;
  /** The service's `bill_id`; `null` before the service has answered. */
  readonly billId: BillId | null;
  readonly state: BillState;
  readonly amount: string;
  readonly currency: string;
  /** Why its creation failed, or has an unknown outcome. */
  readonly failure: string | null;
  readonly createdAt: string;
}

/** Everything recorded about one bill itself. */
export interface BillDetails extends BillSummary {
  readonly description: string | null;
  readonly custom: string;
  /** Whether the shop gave `custom`; otherwise it is the intent's id. */
  readonly customGiven: boolean;
  readonly payerPaysCommission: boolean;
  readonly linkPageUrl: string | null;
  readonly openedAt: string | null;
  readonly paidAt: string | null;
  readonly endedAt: string | null;
  readonly checkedAt: string | null;
  readonly nextCheckAt: string | null;
  readonly lastCheckError: string | null;
  /** When its personal data was removed; `null` if it was not. */
  readonly redactedAt: string | null;
  /** Consecutive failed checks. */
  readonly failedChecks: number;
}

/** A payment in the ledger. */
export interface RecordedPayment {
  readonly paymentId: PaymentId;
  readonly status: string;
  /** As the service sent it. */
  readonly serviceStatus: string | null;
  readonly amount: string | null;
  readonly amountReceived: string | null;
  readonly currency: string | null;
  readonly fromCard: string | null;
  /** As the service sent it, on the service's own clock. */
  readonly serviceCreatedAt: string | null;
  readonly verdict: string;
  readonly firstSeenAt: string;
  readonly changedAt: string;
}

/** A redirect or a postback that was received. */
export interface RecordedCallback {
  readonly id: string;
  readonly kind: CallbackKind;
  readonly status: string | null;
  readonly digest: DigestCheck;
  /**
   * `match`, `mismatch` or `absent` for `order`, `amount`, `currency` and `custom`; empty if nothing was compared. Has no
   * `custom` if the `custom` of the bill had been removed.
   */
  readonly corroboration: Readonly<Record<string, string>>;
  /** Its fields, redacted; empty once retention has removed them. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly pending: boolean;
  /** How often the service was asked again because its list did not yet show the payment. */
  readonly asks: number;
  /**
   * Whether the service's list showed what the postback asserts; `null` while undecided, or if the callback asserts nothing.
   */
  readonly outcome: 'confirmed' | 'unconfirmed' | null;
  readonly receivedAt: string;
}

/** An event and its deliveries. */
export interface RecordedEvent {
  readonly id: string;
  readonly name: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly occurredAt: string;
  readonly deliveries: readonly RecordedDelivery[];
}

export interface RecordedDelivery {
  readonly deliveryId: DeliveryId;
  readonly consumer: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  /** How often it was replayed as a dead letter. */
  readonly replays: number;
  readonly dueAt: string;
  readonly endedAt: string | null;
  readonly lastError: string | null;
}

/** A review, with the ledger's current view of its payment. */
export interface RecordedReview {
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
  /** Whether the payment already had its `payment.succeeded`. */
  readonly succeeded: boolean;
  /**
   * Current status of the payment in the ledger; UNKNOWN if an undocumented status has followed FAIL; `null` if the ledger
   * does not have the payment.
   */
  readonly ledgerStatus: PaymentStatus | null;
  /** Detail of the newest review of the payment, which may be this one; `null` if this one is about the whole bill. */
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

/** What an operator did. */
export interface RecordedAction {
  readonly id: string;
  readonly at: string;
  readonly operator: string;
  readonly action: string;
  /**
   * What the action was about: the id of an intent, a review, a delivery or a lost bill; the name of a shop or a consumer; or
   * `dead letters` for a replay of several.
   */
  readonly target: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Everything recorded about a bill, from its intent to its deliveries; at most 300 records of each kind. */
export interface BillHistory {
  readonly bill: BillDetails;
  /** Every bill of its order, this one included. */
  readonly attempts: readonly BillSummary[];
  readonly payments: readonly RecordedPayment[];
  /** Newest first. */
  readonly callbacks: readonly RecordedCallback[];
  readonly events: readonly RecordedEvent[];
  readonly reviews: readonly RecordedReview[];
  readonly actions: readonly RecordedAction[];
  /** Whether any of the lists is incomplete. */
  readonly truncated: boolean;
}
