import { PaymentAcceptanceError } from '../common/errors.js';

/** A handler or listener of payment events is not reliable as written. Detected at start. */
export class PaymentHandlerError extends PaymentAcceptanceError {
  readonly code = 'payment-handler';

  constructor(where: string, sentence: string) {
    super(`${where}: ${sentence}`);
  }
}
