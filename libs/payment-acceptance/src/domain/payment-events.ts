import type { BillState } from './bill.js';
import type { DecimalAmount } from './money.js';
import type { ReviewReason } from './payment.js';

/** The domain events, by the name under which listeners subscribe. */
export type PaymentEventName = 'payment.succeeded' | 'payment.failed' | 'payment.review' | 'bill.expired';

/** The fields of every event. Plain data: stored as JSON, and the same for every consumer. */
export abstract class PaymentEvent {
  /** Name of the event. */
  abstract readonly name: PaymentEventName;
  /**
   * A deterministic UUID, derived from the shop's name, the service's ids of shop, bill and payment, the event's name and, for a review,
   * its reason and occasion. It stays the same after a restore or an import.
   */
  readonly id!: string;
  /** Schema version: 1. It changes when consumers must change, not when fields are added. */
  readonly version!: 1;
  /** Name of the shop in the module's options. */
  readonly shop!: string;
  /** The order for which the bill was created. */
  readonly orderId!: string;
  /** Number of the bill within its order: 1 for the first. */
  readonly attempt!: number;
  /** The service's `bill_id`. */
  readonly billId!: string;
  /** State of the bill after the settlement; for a late event, at the time of delivery. */
  readonly billState!: BillState;
  /** Amount of the bill, an exact decimal, always with two decimals: `100.00` for a bill of `100`. */
  readonly billedAmount!: DecimalAmount;
  /** Currency of the bill. */
  readonly currency!: string;
  /** The shop's `custom`; `null` if it gave none. */
  readonly custom!: string | null;
  /** When it was settled: ISO 8601, UTC. */
  readonly occurredAt!: string;
  /** True if later events of the same bill were delivered before it, because it kept failing or was a dead letter. */
  readonly late?: boolean;
  /**
   * True if the personal data of the bill was removed, by age or on request, before the event was delivered: `custom` and
   * `fromCard` are then `null`, whatever they were.
   */
  readonly redacted?: boolean;
}

/** The fields of events about one payment. Amounts are exact decimals as the service listed them. */
export abstract class PaymentOutcomeEvent extends PaymentEvent {
  /** The service's payment id. */
  readonly paymentId!: string;
  /** Amount paid according to the service; `null` if it states no usable one. */
  readonly amount!: DecimalAmount | null;
  /** The part of it that the shop receives, according to the service. Never decides anything. */
  readonly amountReceived!: DecimalAmount | null;
  /** Currency of these amounts, only if it is not that of the bill. */
  readonly paymentCurrency?: string;
  /** Only if the service states one. */
  readonly commission?: DecimalAmount;
  /** Masked card number. */
  readonly fromCard!: string | null;
}

/** A payment that matches its bill reached SUCCESS. Once per payment. */
export class PaymentSucceededEvent extends PaymentOutcomeEvent {
  readonly name = 'payment.succeeded';
  /** Amount paid. */
  declare readonly amount: DecimalAmount;
  /** False for every payment of the order after the first: the payer paid twice, and a review is open. */
  readonly firstForOrder!: boolean;
  /** Amount paid above the bill; if the payer pays the commission, it includes that. */
  readonly surplus?: DecimalAmount;
  /** The operator who accepted the payment, if the judge had not; `amount` is then what the operator accepted. */
  readonly acceptedBy?: string;
}

/** A payment reached FAIL. The bill stays open: another payment may follow. Once per payment. */
export class PaymentFailedEvent extends PaymentOutcomeEvent {
  readonly name = 'payment.failed';
  /** Whether the order already has a successful payment: then the order must stay paid. */
  readonly orderPaid!: boolean;
}

/** Something does not match: a review is open for a person to decide. */
export class PaymentReviewEvent extends PaymentEvent {
  readonly name = 'payment.review';
  /** For `PaymentReviews.accept` and `dismiss`. */
  readonly reviewId!: string;
  /** What does not match. */
  readonly reason!: ReviewReason;
  /** The payment, as the service listed it; `null` if the review is about the whole bill. */
  readonly paymentId!: string | null;
  readonly amount!: DecimalAmount | null;
  readonly amountReceived!: DecimalAmount | null;
  readonly fromCard!: string | null;
  /** Currency of these amounts, only if it is not that of the bill. */
  readonly paymentCurrency?: string;
}

/** A bill was not paid within its lifetime. It is still checked daily: a late payment becomes `payment.succeeded`. */
export class BillExpiredEvent extends PaymentEvent {
  readonly name = 'bill.expired';
  /** Whether the order has a successful payment, from another of its bills: then the order must stay paid. */
  readonly orderPaid?: boolean;
}

/** Event classes by name. */
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

export const PAYMENT_EVENT_NAMES: readonly PaymentEventName[] = Object.keys(CLASSES) as PaymentEventName[];

/** The fields of an event except those that its class sets. */
export type EventData<Name extends PaymentEventName> = Omit<PaymentEventMap[Name], 'name'>;

/** Creates a frozen event: no consumer can change what another one sees. */
export function paymentEvent<Name extends PaymentEventName>(name: Name, data: EventData<Name>): PaymentEventMap[Name] {
  const event: PaymentEventMap[Name] = new CLASSES[name]();
  Object.freeze(Object.assign(event, data));
  return event;
}
