import { PAYMENT_EVENT_NAMES, type PaymentEventName } from '../domain/payment-events.js';

/** A fixed key, so that handlers are found by whichever build of this package is loaded. */
const HANDLERS = 'nestjs-payment-acceptance/handlers';

export interface PaymentHandlerOptions {
  /**
   * Stable name of who takes the event, for example `orders`. Every consumer gets its own delivery of every event;
   * renaming it is adding one consumer and removing another.
   */
  consumer: string;
  /** Only events of these shops. Default: of all. */
  shops?: string[];
}

export interface PaymentHandlerMetadata extends PaymentHandlerOptions {
  readonly event: PaymentEventName;
}

/**
 * Marks a method of a provider or controller as a durable handler of an event: `(event, context) => Promise<void>`.
 * What it writes through `context.manager` commits together with the mark that it is done, so exactly once; everything
 * else it does happens at least once. When it throws, it is called again later.
 */
export function OnPaymentEvent(event: PaymentEventName, options: PaymentHandlerOptions): MethodDecorator {
  return (_target, _key, descriptor: PropertyDescriptor) => {
    const method: object = descriptor.value as object;
    Reflect.defineMetadata(HANDLERS, [...paymentHandlersOf(method), { ...options, event }], method);
  };
}

/** Durable handler of `payment.succeeded`; see {@link OnPaymentEvent}. */
export const OnPaymentSucceeded = (options: PaymentHandlerOptions): MethodDecorator =>
  OnPaymentEvent('payment.succeeded', options);

/** Durable handler of `payment.failed`; see {@link OnPaymentEvent}. */
export const OnPaymentFailed = (options: PaymentHandlerOptions): MethodDecorator =>
  OnPaymentEvent('payment.failed', options);

/** Durable handler of `payment.review`; see {@link OnPaymentEvent}. */
export const OnPaymentReview = (options: PaymentHandlerOptions): MethodDecorator =>
  OnPaymentEvent('payment.review', options);

/** Durable handler of `bill.expired`; see {@link OnPaymentEvent}. */
export const OnBillExpired = (options: PaymentHandlerOptions): MethodDecorator =>
  OnPaymentEvent('bill.expired', options);

/** The durable handlers a method is marked as. */
export function paymentHandlersOf(method: object): readonly PaymentHandlerMetadata[] {
  const found: unknown = Reflect.getMetadata(HANDLERS, method);
  return Array.isArray(found) ? (found as PaymentHandlerMetadata[]) : [];
}

export function isPaymentEventName(name: unknown): name is PaymentEventName {
  return PAYMENT_EVENT_NAMES.some((known) => known === name);
}
