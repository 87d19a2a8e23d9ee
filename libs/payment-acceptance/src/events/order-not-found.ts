/** The same in every loaded copy of this package. */
const ORDER_NOT_FOUND_MARK = Symbol.for('nestjs-payment-acceptance/order-not-found');

/**
 * Thrown by a handler that does not find the order of an event, as after a restore, where orders and payments come back one
 * after the other. The delivery is tried again with pauses that grow from 5 seconds to an hour, for a day at least, however
 * few attempts the option `deliveries.maxAttempts` leaves to others, and then becomes a dead letter like any other. Health
 * counts them (`failingConsumers`, `ordersNotFound`), and `PaymentOperations.release` has them tried at once.
 */
export class OrderNotFoundError extends Error {
  readonly [ORDER_NOT_FOUND_MARK] = true;
  readonly code = 'order-not-found';

  /** @param orderId as the event names it */
  constructor(
    readonly orderId: string,
    options?: ErrorOptions,
  ) {
    super(`There is no order "${orderId}".`, options);
    this.name = 'OrderNotFoundError';
  }
}

export function isOrderNotFound(error: unknown): error is OrderNotFoundError {
  return typeof error === 'object' && error !== null && ORDER_NOT_FOUND_MARK in error;
}
