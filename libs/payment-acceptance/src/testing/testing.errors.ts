import { PaymentAcceptanceError } from '../common/errors.js';

/** A test cannot go on: the message says what to do in the test or in the application. */
export class PaymentTestingError extends PaymentAcceptanceError {
  readonly code = 'testing';
}
