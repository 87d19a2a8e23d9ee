import type { BillState } from './bill.js';
import type { DecimalAmount } from './money.js';
import type { ReviewReason } from './payment.js';

/** The domain events, by the name under which listeners subscribe. */
export type PaymentEventName = 'payment.succeeded' | 'payment.failed' | 'payment.review' | 'bill.expired';

export const PAYMENT_EVENT_NAMES: readonly PaymentEventName[] = [
  'payment.succeeded',
  'payment.failed',
  'payment.review',
  'bill.expired',
];

/** What every event says. Plain data: it is stored as JSON and arrives the same through every consumer. */
export abstract class PaymentEvent {
  /** Which event it is. */
  abstract readonly name: PaymentEventName;
  /** Follows from the fact itself: the same payment reaching the same state always has the same id. */
  readonly id!: string;
  /** Version of this shape: 1. */
  readonly version!: 1;
  /** Name of the shop in the module's options. */
  readonly shop!: string;
  /** The order our bill was created for. */
  readonly orderId!: string;
  /** Which bill of the order: 1 for the first. */
  readonly attempt!: number;
  /** The service's `bill_id`. */
  readonly billId!: string;
  /** State of the bill after the settlement; where the event is late, when it comes. */
  readonly bill!: BillState;
  /** What our bill asks for, an exact decimal. */
  readonly billedAmount!: DecimalAmount;
  /** Currency of the bill. */
  readonly currency!: string;
  /** What the shop gave as `custom`; `null` where it gave none. */
  readonly custom!: string | null;
  /** When it was settled: ISO 8601, UTC. */
  readonly occurredAt!: string;
  /** True where later events of the same bill have come before it: it has failed for long, or was a dead letter. */
  readonly late?: boolean;
}

/** What the events about one payment say. Amounts are exact decimals as the service listed them. */
export abstract class PaymentOutcomeEvent extends PaymentEvent {
  /** The service's payment id. */
  readonly paymentId!: string;
  /** What the service says was paid; `null` where it says nothing usable. */
  readonly amount!: DecimalAmount | null;
  /** What it says the shop gets of it. Never decides anything. */
  readonly amountReceived!: DecimalAmount | null;
  /** Where the service states one. */
  readonly commission?: DecimalAmount;
  /** Masked card number. */
  readonly fromCard!: string | null;
}

/** A payment that fits its bill has reached SUCCESS. Once for each payment. */
export class PaymentSucceededEvent extends PaymentOutcomeEvent {
  readonly name = 'payment.succeeded';
  /** What was paid. */
  declare readonly amount: DecimalAmount;
  /** False for every payment of the order after the first: the payer has paid twice, and a review is open. */
  readonly firstForOrder!: boolean;
  /** What was paid above the bill where the payer pays the commission. */
  readonly surplus?: DecimalAmount;
  /** The operator who accepted the payment, where the judge had not; `amount` is then what the operator let count. */
  readonly acceptedBy?: string;
}

/** A payment has reached FAIL. The bill stays open: another payment may follow. Once for each payment. */
export class PaymentFailedEvent extends PaymentOutcomeEvent {
  readonly name = 'payment.failed';
  /** Whether the order has a successful payment already: then it must not be un-paid. */
  readonly orderPaid!: boolean;
}

/** Something does not match, and a review is open for a person to decide. */
export class PaymentReviewEvent extends PaymentEvent {
  readonly name = 'payment.review';
  /** For `PaymentReviews.accept` and `dismiss`. */
  readonly reviewId!: string;
  /** What does not match. */
  readonly reason!: ReviewReason;
  /** The payment and what the service says of it; `null` where the review is about the bill as a whole. */
  readonly paymentId!: string | null;
  readonly amount!: DecimalAmount | null;
  readonly amountReceived!: DecimalAmount | null;
  readonly fromCard!: string | null;
}

/** A bill was not paid within its lifetime. It is still looked at daily: a late payment becomes `payment.succeeded`. */
export class BillExpiredEvent extends PaymentEvent {
  readonly name = 'bill.expired';
}

/** Each event's class by its name. */
export interface PaymentEventMap {
  'payment.succeeded': PaymentSucceededEvent;
  'payment.failed': PaymentFailedEvent;
  'payment.review': PaymentReviewEvent;
  'bill.expired': BillExpiredEvent;
}

const CLASSES: { readonly [Name in PaymentEventName]: new () => PaymentEventMap[Name] } = {
  'payment.succeeded': PaymentSucceededEvent,
  'payment.failed': PaymentFailedEvent,
  'payment.review': PaymentReviewEvent,
  'bill.expired': BillExpiredEvent,
};

/** The fields of an event without those that its class gives. */
export type EventData<Name extends PaymentEventName> = Omit<PaymentEventMap[Name], 'name'>;

/** Makes an event of its data, which is frozen: one consumer cannot change what another one sees. */
export function paymentEvent<Name extends PaymentEventName>(name: Name, data: EventData<Name>): PaymentEventMap[Name] {
  const event: PaymentEventMap[Name] = new CLASSES[name]();
  Object.freeze(Object.assign(event, data));
  return event;
}
