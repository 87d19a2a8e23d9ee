import { PaymentAcceptanceError, isMarked } from '../common/errors.js';

/** A handler or listener of payment events is declared in a way that would make it unreliable. Detected at startup. */
export class PaymentHandlerError extends PaymentAcceptanceError {
  readonly code = 'payment-handler';

  constructor(where: string, sentence: string) {
    super(`${where}: ${sentence}`);
  }
}

/** Shared by every loaded copy of this package. */
const MARK = Symbol.for('nestjs-payment-acceptance/non-retryable');

/** Throw it from a handler if no further attempt can help: the delivery becomes a dead letter at once. */
export class PaymentNonRetryableError extends Error {
  readonly [MARK] = true;

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'PaymentNonRetryableError';
  }
}

export function isNonRetryable(error: unknown): error is PaymentNonRetryableError {
  return isMarked(error, MARK);
}

const ORDER_NOT_FOUND_MARK = Symbol.for('nestjs-payment-acceptance/order-not-found');

/**
 * Throw it from a handler that cannot find the event's order, for example because a restore brought payments back before orders, or
 * because the order does not meet a condition of the handler, such as the amount. The delivery is
 * retried with a backoff from 5 seconds to an hour for at least a day, however small `deliveries.maxAttempts` is, and then
 * becomes a dead letter like any other. Health counts these deliveries (`failingConsumers`, `ordersNotFound`), and
 * `PaymentOperations.replay` retries them at once.
 */
export class PaymentOrderNotFoundError extends Error {
  readonly [ORDER_NOT_FOUND_MARK] = true;
  readonly code = 'order-not-found';

  /**
   * @param orderId as the event names it
   * @param options `lookedFor`: what else the order had to match, for the message
   */
  constructor(
    readonly orderId: string,
    { lookedFor, ...options }: { readonly lookedFor?: string; readonly cause?: unknown } = {},
  ) {
    const suffix = lookedFor === undefined ? '' : ` (${lookedFor})`;
    super(
      `The handler found nothing for order "${orderId}"${suffix}: the order does not exist, or does not match the handler's conditions.`,
      options,
    );
    this.name = 'PaymentOrderNotFoundError';
  }
}

export function isOrderNotFound(error: unknown): error is PaymentOrderNotFoundError {
  return isMarked(error, ORDER_NOT_FOUND_MARK);
}
