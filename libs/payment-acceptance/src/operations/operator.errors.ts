import { PaymentAcceptanceError } from '../common/errors.js';

/** An operator's request cannot be carried out; nothing was changed. */
export class PaymentOperatorActionError extends PaymentAcceptanceError {
  readonly code = 'operator-action';
}
