import type { BillState } from '../domain/bill.js';
import type { CallbackKind, DigestCheck } from '../domain/callback.js';
import type { BillId, DeliveryId, IntentId, OrderId, PaymentId } from '../domain/ids.js';
import type { PaymentStatus } from '../domain/payment.js';
import type { RedactedPart } from '../retention/storage/redaction.js';
import type { LostBillPayment } from '../settlement/storage/inquiry.store.js';

/*
 * Records as shown to people. Times are ISO 8601 in UTC, amounts decimal strings such as `100.05`. Nothing here is secret.
 */

export type { LostBillPayment, RedactedPart };

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
  /** When the shop cancelled the order; `null` if it did not. */
  readonly orderCancelledAt: string | null;
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
  /** How often an operator has had it delivered: replayed as a dead letter, or created for a past event. */
  readonly replays: number;
  readonly dueAt: string;
  /** When it was done or given up, ISO 8601. */
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
  /** The payment that paid the order first, whichever bill it belongs to; `null` if the order is not paid. */
  readonly orderPaymentId: PaymentId | null;
  /** When the shop cancelled the order; `null` if it did not. */
  readonly orderCancelledAt: string | null;
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

/** One page of a list, and whether there are more. */
export interface RecordPage<Row> {
  readonly rows: readonly Row[];
  readonly more: boolean;
}

/** Selects bills; an omitted field matches all. */
export interface BillQuery {
  readonly shop?: string;
  readonly states?: readonly BillState[];
  /** Only bills created before the one with this intent id: the last bill of the previous page. */
  readonly before?: string;
}

/** A postback that names no known bill and waits for one. */
export interface WaitingPostback {
  readonly shop: string;
  /** As the postback claims, which anybody can have sent. */
  readonly orderId: OrderId | null;
  /** The service's `bill_id`, as the postback claims. */
  readonly trsId: string | null;
  readonly status: string | null;
  readonly digest: string;
  /** ISO 8601. */
  readonly receivedAt: string;
}

/** What an operator did, with the bill concerned, if there is one. */
export interface LoggedAction extends RecordedAction {
  readonly intentId: IntentId | null;
  readonly orderId: OrderId | null;
}

/** Selects dead letters; an omitted field matches all. */
export interface DeadLetterFilter {
  readonly deliveryId?: DeliveryId;
  readonly consumer?: string;
  readonly event?: string;
  readonly shop?: string;
  readonly orderId?: OrderId;
}

/** A delivery that was given up: a dead letter. */
export interface DeadLetter extends Pick<
  RecordedDelivery,
  'deliveryId' | 'consumer' | 'attempts' | 'replays' | 'lastError' | 'endedAt'
> {
  readonly event: string;
  readonly eventId: string;
  readonly shop: string;
  readonly orderId: OrderId;
  /** Id of our bill. */
  readonly intentId: IntentId;
}

/** Selects past events to deliver to a consumer; an omitted field matches all. */
export interface PastEventFilter {
  readonly consumer: string;
  /** Event name, such as `payment.succeeded`. */
  readonly event?: string;
  readonly shop?: string;
  readonly orderId?: OrderId;
  /** Settled at this time or later. */
  readonly from?: Date;
  /** Settled before this time. */
  readonly to?: Date;
}

/** A bill that the service created for a shop but that is missing from the ledger. */
export interface LostBill {
  /** Our id of this record. */
  readonly id: string;
  readonly shop: string;
  /** The service's `bill_id`. */
  readonly billId: BillId;
  /** The order named by its first postback. Anybody can send a postback, so this proves nothing. */
  readonly namedOrderId: OrderId | null;
  /** How many different orders its waiting postbacks name. The postbacks of a genuine bill name only one. */
  readonly namedOrderCount: number;
  /** Our intent of unknown outcome for the named order, if there is one: the lost bill may be the one that it created. */
  readonly unknownIntentId: IntentId | null;
  /** The payments last listed, at most 20, successful ones first; empty if the service has too many to list any. */
  readonly payments: readonly LostBillPayment[];
  /** How many payments were listed. */
  readonly paymentCount: number;
  /** When the first postback that names the bill came, ISO 8601. */
  readonly firstPostbackAt: string;
  /** When the service confirmed the bill, ISO 8601. */
  readonly foundAt: string;
  /** When the service was last asked about the bill, ISO 8601. */
  readonly askedAt: string;
}

/**
 * What an erasure removes: the same parts as retention, and also raw fields of postbacks that name the order but no known
 * bill, the payments that were listed while the order's bills were lost bills, and the notes of operators' actions.
 */
export type ErasedPart = RedactedPart | 'waitingCallbacks' | 'lostBills' | 'notes';

/** A bill of an erased order. */
export interface ErasedBill {
  readonly intentId: IntentId;
  readonly billId: BillId | null;
  readonly state: BillState;
}

/** The result of `PaymentOperations.eraseOrder`. */
export interface PaymentErasure {
  readonly shop: string;
  readonly orderId: OrderId;
  readonly bills: readonly ErasedBill[];
  /** For each part, the number of records from which data was removed; all 0 if the order had been erased before. */
  readonly removed: Readonly<Record<ErasedPart, number>>;
}

/** The last 24 hours in figures. */
export interface PaymentFigures {
  readonly hours: readonly HourOfPayments[];
  /**
   * How long payments took from the service's `created_at` (whole seconds, on its own clock) to their settlement, in
   * milliseconds. Excludes shops not yet used in this process.
   */
  readonly settlementDelaysMs: readonly number[];
  readonly waiting: readonly WaitingWork[];
  readonly errors: readonly ErrorCount[];
  /** Bills created, by state. */
  readonly states: readonly { readonly state: BillState; readonly count: number }[];
  /** Whether the day had more events than were read; the early hours are then incomplete. */
  readonly truncated: boolean;
}

/** Payments of one hour, by outcome. */
export interface HourOfPayments {
  /** Its start, ISO 8601. */
  readonly hour: string;
  readonly succeeded: number;
  readonly failed: number;
  readonly reviews: number;
}

/** Number of due checks, or of pending deliveries, in one age group. */
export interface WaitingWork {
  readonly kind: 'check' | 'delivery';
  /** Index of the highest of the given ages that this work has reached; -1 if it has reached none of them. */
  readonly age: number;
  readonly count: number;
}

export interface ErrorCount {
  /** Where it happened: `creation`, `check`, or the name of a consumer. */
  readonly where: string;
  /** Name of the error. */
  readonly kind: string;
  readonly count: number;
}
