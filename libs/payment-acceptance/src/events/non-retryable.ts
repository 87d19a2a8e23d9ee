import { isMarked } from '../common/errors.js';

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
