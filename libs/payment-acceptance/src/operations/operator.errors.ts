import { describeError, PaymentAcceptanceError } from '../common/errors.js';

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

/** An action on many records failed after a part of them; what is done stays done, and to call again does the rest. */
export class PaymentActionInterruptedError extends PaymentAcceptanceError {
  readonly code = 'action-interrupted';

  constructor(
    /** How many are done. */
    readonly done: number,
    cause: unknown,
  ) {
    super(`The action stopped after ${done}, which remain done. Call again for the rest. ${describeError(cause)}`);
  }
}
