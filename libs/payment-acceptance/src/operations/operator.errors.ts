import { PaymentAcceptanceError } from '../common/errors.js';

/** An operator's request cannot be carried out; nothing was changed. */
export class PaymentOperatorActionError extends PaymentAcceptanceError {
  readonly code = 'operator-action';

  constructor(
    message: string,
    /**
     * `not-found`: there is no such bill or consumer. `busy`: somebody else is doing it; repeat it in a moment. `refused`: all
     * else, as its message says.
     */
    readonly reason: 'not-found' | 'busy' | 'refused' = 'refused',
  ) {
    super(message);
  }
}
