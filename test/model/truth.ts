import type { Bill, Payment } from 'nestjs-payment-sandbox';

/** A bill of ours, as its caller knows it. */
export interface KnownBill {
  readonly shop: 'main' | 'eu';
  readonly orderId: string;
  readonly billId: string;
  /** The service's status of each payment when the module last acknowledged a callback for this bill. */
  told: ReadonlyMap<string, Payment['status']>;
}

/** What the business has done and the service knows: all that the module may be judged by. */
export interface Model {
  /** Which of the sequences this is; part of every order's id. */
  readonly run: number;
  readonly bills: KnownBill[];
}

export type ServiceBill = Bill & { readonly payments: readonly Payment[] };

/** What has to become of a SUCCESS payment: an event, a review, or both. */
export interface Due {
  readonly event: boolean;
  readonly review: string | null;
}

/** The money rules, said a second time. */
export function dueOf(bill: Bill, payment: Payment): Due {
  if (payment.currency !== bill.currency) return { event: false, review: 'wrong-currency' };
  const more = cents(payment.amount) - cents(bill.amount);
  if (more < 0) return { event: false, review: 'underpaid' };
  return { event: true, review: more > 0 && !bill.payerPaysCommission ? 'overpaid' : null };
}

export const cents = (amount: string): number => Number(amount.replace('.', ''));

/** How far a payment has come; it never goes back. */
export const RANK: Readonly<Record<string, number>> = { NEW: 1, PROCESS: 2, FAIL: 3, SUCCESS: 4 };
