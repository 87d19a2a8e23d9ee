import type { DecimalAmount } from '../domain/money.js';

/** What the payer is told after the redirect: the stored state, never what the redirect claims. */
export interface PaymentResult {
  readonly shop: string;
  /** The `InvId` of the redirect: the shop's order id. */
  readonly orderId: string;
  /**
   * `pending` until the service's list of payments says otherwise; `review` while a person of the shop has to decide, for
   * example because too little was paid.
   */
  readonly result: 'paid' | 'failed' | 'review' | 'pending';
  readonly amount: DecimalAmount;
  readonly currency: string;
}

/** Returns the whole HTML page, or redirects the payer to an address of yours (303). */
export type PaymentResultRenderer = (
  result: PaymentResult,
) => string | { redirectTo: string } | Promise<string | { redirectTo: string }>;
