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

/** An action on many records failed part-way. What was done stays done; call it again to do the rest. */
export class PaymentActionInterruptedError extends PaymentAcceptanceError {
  readonly code = 'action-interrupted';

  constructor(
    /** Number of records processed before the failure. */
    readonly done: number,
    cause: unknown,
  ) {
    super(
      `The action stopped after ${done} records, which stay done. Call again to do the rest. ${describeError(cause)}`,
    );
  }
}
