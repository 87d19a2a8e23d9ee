import { Injectable } from '@nestjs/common';

/**
 * Told of every point between two awaited steps: before and after each statement, each commit, each request to the
 * service and each handler. It does nothing. A test replaces it, with `overrideProvider(PaymentProbe)`, to kill the
 * process at each point that it has seen; since statements and requests have no way around it, a new step is covered
 * without anyone remembering.
 */
@Injectable()
export class PaymentProbe {
  /** @param _point what is about to happen or has just happened, for example `before UPDATE payment_acceptance.bill` */
  reached(_point: string): void {
    // Nothing: it costs a call.
  }
}
