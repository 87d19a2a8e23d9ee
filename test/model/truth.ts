import type { Bill, Callback, Payment } from 'nestjs-payment-sandbox';

/** A bill of ours, as its caller knows it. */
export interface KnownBill {
  readonly shop: 'main' | 'eu';
  readonly orderId: string;
  readonly billId: string;
  /** How far the module must soon know each payment to be, since a callback of this bill that it has acknowledged. */
  readonly told: Map<string, Payment['status']>;
}

/** What the business has done and the service knows: all that the module may be judged by. */
export interface Model {
  /** Which of the sequences this is; part of every order's id. */
  readonly run: number;
  readonly bills: KnownBill[];
  /** Payments that an operator has accepted which had no event: known from the list then, or not yet. */
  readonly accepted: Map<string, 'as listed' | 'ahead of the list'>;
  /** Those of them that the ledger had as FAIL: a list that still says so is one more review. */
  readonly afterFailure: Set<string>;
  /** Orders that their shop has cancelled before any payment was settled, by {@link keyOf}. */
  readonly cancelled: Set<string>;
  /** What operators have done. */
  readonly actions: string[];
}

export const aModel = (run: number): Model => ({
  run,
  bills: [],
  accepted: new Map(),
  afterFailure: new Set(),
  cancelled: new Set(),
  actions: [],
});

export const keyOf = ({ shop, orderId }: Pick<KnownBill, 'shop' | 'orderId'>): string => `${shop} ${orderId}`;

export type ServiceBill = Bill & { readonly payments: readonly Payment[]; readonly callbacks: readonly Callback[] };

/** What has to become of a SUCCESS payment: an event, a review, or both. */
export interface Due {
  readonly event: boolean;
  readonly review: string | null;
}

/** What becomes of it where a person may have accepted it: that counts, and only a list that is seen later is held against it. */
export function dueOf({ accepted, bills, cancelled }: Model, bill: Bill, payment: Payment): Due {
  const due = dueByMoney(bill, payment);
  const isOfCancelled = bills.some((each) => each.billId === bill.id && cancelled.has(keyOf(each)));
  const listed = isOfCancelled && due.event ? { event: false, review: 'order-cancelled' } : due;
  switch (accepted.get(payment.id)) {
    case 'as listed':
      return { event: true, review: listed.review };
    case 'ahead of the list':
      return { event: true, review: due.event ? null : 'payment-changed' };
    case undefined:
      return listed;
  }
}

/** The money rules, said a second time. */
function dueByMoney(bill: Bill, payment: Payment): Due {
  if (payment.currency !== bill.currency) return { event: false, review: 'wrong-currency' };
  const more = cents(payment.amount) - cents(bill.amount);
  if (more < 0) return { event: false, review: 'underpaid' };
  return { event: true, review: more > 0 && !bill.payerPaysCommission ? 'overpaid' : null };
}

export const cents = (amount: string): number => Number(amount.replace('.', ''));

/** What the service had a payment as at an instant of its clock; `undefined` before it began. */
export function statusAt(payment: Payment, instant: string): Payment['status'] | undefined {
  return payment.history.filter(({ at }) => at <= instant).at(-1)?.status;
}

/** How far a payment has come; it never goes back. */
export const RANK: Readonly<Record<string, number>> = { NEW: 1, PROCESS: 2, FAIL: 3, SUCCESS: 4 };
