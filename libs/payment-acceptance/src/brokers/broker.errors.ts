import { PaymentAcceptanceError } from '../common/errors.js';

/** The event was not accepted; it is kept and sent again. */
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

export const refusedError = (message: string): PaymentBrokerError => new PaymentBrokerError('broker-refused', message);

export const isUnavailable = (error: unknown): boolean =>
  error instanceof PaymentBrokerError && error.code === 'broker-unavailable';
