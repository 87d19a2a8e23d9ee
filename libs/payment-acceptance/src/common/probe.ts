import { Injectable } from '@nestjs/common';

/**
 * Called between any two awaited steps: before and after each statement, commit, request to the service and handler.
 * Does nothing. A test replaces it with `overrideProvider(PaymentProbe)` to kill the process at each of these points.
 * Statements and requests cannot bypass it, so new steps are covered automatically.
 */
@Injectable()
export class PaymentProbe {
  /** @param _point what is about to happen or has just happened, for example `before UPDATE payment_acceptance.bill` */
  reached(_point: string): void {
    // Nothing in production.
  }
}
