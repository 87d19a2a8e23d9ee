import { PaymentAcceptanceError } from '../common/errors.js';

/** What an operator asked for cannot be done; nothing was changed. */
export class OperatorActionError extends PaymentAcceptanceError {
  readonly code = 'operator-action';
}
