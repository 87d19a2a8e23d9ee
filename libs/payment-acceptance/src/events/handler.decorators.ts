import { PaymentHandlerError } from './consumer.errors.js';
import { PAYMENT_EVENT_NAMES, type PaymentEventMap, type PaymentEventName } from '../domain/payment-events.js';

/** A fixed key, so that every loaded build of this package finds the handlers. */
const HANDLERS_METADATA = 'nestjs-payment-acceptance/handlers';

export interface PaymentHandlerOptions {
  /**
   * Stable name of the consumer, for example `orders`. Each consumer gets its own delivery of every event; renaming one
   * adds a consumer and removes another.
   */
  consumer: string;
  /** Only events of these shops. Default: all shops. */
  shops?: string[];
}

export interface PaymentHandlerMetadata extends PaymentHandlerOptions {
  readonly event: PaymentEventName;
}

/** Decorates a method that takes the event, also within `applyDecorators` of Nest. */
export type PaymentHandlerDecorator<Name extends PaymentEventName> = <
  Handler extends (event: PaymentEventMap[Name], context: never) => unknown,
>(
  prototype: object,
  name: string | symbol,
  descriptor?: TypedPropertyDescriptor<Handler>,
) => void;

/**
 * Marks a method of a provider or controller as a durable handler of an event: `(event, context) => Promise<void>`. What it
 * writes through `context.tx` commits together with the mark that the delivery is done, so it takes effect exactly once;
 * everything else it does may happen more than once. With the option `handlers: 'at-least-once'` there is no transaction,
 * and all of it may happen more than once. If it throws, the delivery is retried later.
 * @throws PaymentHandlerError if the target is not an instance method, or its name is a symbol
 */
export function OnPaymentEvent<Name extends PaymentEventName>(
  event: Name,
  options: PaymentHandlerOptions,
): PaymentHandlerDecorator<Name> {
  return (prototype, name, descriptor?: PropertyDescriptor) => {
    const method: unknown = descriptor?.value;
    if (typeof prototype === 'function' || typeof name === 'symbol' || typeof method !== 'function') {
      const label = `${(typeof prototype === 'function' ? prototype : prototype.constructor).name}.${String(name)}`;
      throw new PaymentHandlerError(label, 'must be an instance method whose name is a string, not a symbol.');
    }
    const handlers = [...paymentHandlersOf(prototype, name, method), { ...options, event }];
    // Stored under the method's name, since a decorator above may replace the function, and on the method, for mixins that
    // copy it.
    Reflect.defineMetadata(HANDLERS_METADATA, handlers, prototype, name);
    Reflect.defineMetadata(HANDLERS_METADATA, handlers, method);
  };
}

/** Durable handler of `payment.succeeded`; see {@link OnPaymentEvent}. */
export const OnPaymentSucceeded = (options: PaymentHandlerOptions): PaymentHandlerDecorator<'payment.succeeded'> =>
  OnPaymentEvent('payment.succeeded', options);

/** Durable handler of `payment.failed`; see {@link OnPaymentEvent}. */
export const OnPaymentFailed = (options: PaymentHandlerOptions): PaymentHandlerDecorator<'payment.failed'> =>
  OnPaymentEvent('payment.failed', options);

/** Durable handler of `payment.review`; see {@link OnPaymentEvent}. */
export const OnPaymentReview = (options: PaymentHandlerOptions): PaymentHandlerDecorator<'payment.review'> =>
  OnPaymentEvent('payment.review', options);

/** Durable handler of `bill.expired`; see {@link OnPaymentEvent}. */
export const OnBillExpired = (options: PaymentHandlerOptions): PaymentHandlerDecorator<'bill.expired'> =>
  OnPaymentEvent('bill.expired', options);

export function paymentHandlersOf(
  prototype: object,
  name: string | symbol,
  method: object,
): readonly PaymentHandlerMetadata[] {
  const metadata: unknown =
    Reflect.getOwnMetadata(HANDLERS_METADATA, prototype, name) ?? Reflect.getMetadata(HANDLERS_METADATA, method);
  return Array.isArray(metadata) ? (metadata as PaymentHandlerMetadata[]) : [];
}

export function isPaymentEventName(name: unknown): name is PaymentEventName {
  return PAYMENT_EVENT_NAMES.some((known) => known === name);
}
