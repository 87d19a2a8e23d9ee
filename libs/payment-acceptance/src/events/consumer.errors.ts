import { PaymentAcceptanceError } from '../common/errors.js';

/** A handler or listener of payment events is declared in a way that would make it unreliable. Detected at startup. */
export class PaymentHandlerError extends PaymentAcceptanceError {
  readonly code = 'payment-handler';

  constructor(where: string, sentence: string) {
    super(`${where}: ${sentence}`);
  }
}
