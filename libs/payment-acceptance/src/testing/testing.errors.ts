import { PaymentAcceptanceError } from '../common/errors.js';

/** A test cannot continue; the message says what to change in the test or the application. */
export class PaymentTestingError extends PaymentAcceptanceError {
  readonly code = 'testing';
}
