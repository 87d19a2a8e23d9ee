import type { DecimalAmount } from '../domain/money.js';

/** What the payer is told after the redirect: stored state, never the redirect's own claim. */
export interface PaymentResult {
  readonly shop: string;
  /** The `InvId` of the redirect: the shop's order id. */
  readonly orderId: string;
  /** `pending` until the service's own list of payments has been read and says otherwise. */
  readonly result: 'paid' | 'failed' | 'pending';
  readonly amount: DecimalAmount;
  readonly currency: string;
}

/** Gives the whole HTML page, or sends the payer to an address of the host (303). */
export type PaymentResultRenderer = (
  result: PaymentResult,
) => string | { redirectTo: string } | Promise<string | { redirectTo: string }>;
