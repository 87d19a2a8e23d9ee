import { describeError, PaymentAcceptanceError } from '../common/errors.js';

/** An operator's request cannot be carried out; nothing was changed. */
export class PaymentOperatorActionError extends PaymentAcceptanceError {
  readonly code = 'operator-action';

  constructor(
    message: string,
    /**
     * `not-found`: there is no such bill or consumer. `busy`: the same is already in progress; try again in a moment.
     * `refused`: anything else; the message says what.
     */
    readonly reason: 'not-found' | 'busy' | 'refused' = 'refused',
  ) {
    super(message);
  }
}

/** A reconciliation of all shops has skipped some: their service does not answer, or their settings cannot be read. */
export class PaymentReconciliationIncompleteError extends PaymentAcceptanceError {
  readonly code = 'reconciliation-incomplete';

  /** @param failed the shops that were skipped, each with the error's code */
  constructor(readonly failed: readonly { readonly shop: string; readonly error: string }[]) {
    super(
      `Shops not reconciled: ${failed.map(({ shop, error }) => `${shop} (${error})`).join(', ')}. All other shops were reconciled. ` +
        'Correct the cause, then reconcile again.',
    );
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
      `The action stopped after ${done} records; what was done stays done. Repeat it to do the rest. ${describeError(cause)}`,
    );
  }
}
