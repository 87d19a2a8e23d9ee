import { PaymentAcceptanceError } from '../common/errors.js';

/** A broker has not accepted an event. The event is kept and sent again. */
class PaymentBrokerError extends PaymentAcceptanceError {
  readonly code: 'broker-unavailable' | 'broker-refused';

  constructor(code: PaymentBrokerError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** The broker is unreachable or does not answer: nothing is wrong with the event. */
export const unavailableError = (message: string): PaymentBrokerError =>
  new PaymentBrokerError('broker-unavailable', message);

/** The broker answered and refused this event. */
export const refusedError = (message: string): PaymentBrokerError => new PaymentBrokerError('broker-refused', message);

export const isUnavailable = (error: unknown): boolean =>
  error instanceof PaymentBrokerError && error.code === 'broker-unavailable';
