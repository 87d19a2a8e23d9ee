import type { LockedBill } from '../domain/bill.js';
import type { LedgerPayment } from '../domain/payment.js';
import type { PaymentReview, ReviewRow } from '../storage/operator.store.js';
import { OperatorActionError } from './operator.errors.js';
import type { BillId, PaymentId } from '../domain/ids.js';

/** What the service listed of a payment when a review was opened. */
export interface ListedPayment {
  readonly status: string | null;
  readonly amount: string | null;
  readonly currency: string | null;
  readonly billId: BillId | null;
}

/** What there is to know, under the lock of the bill, of a payment that is to be accepted and has not counted yet. */
export interface Acceptance {
  readonly bill: LockedBill;
  readonly review: ReviewRow;
  readonly paymentId: PaymentId;
  /** The ledger's. */
  readonly row: LedgerPayment | undefined;
  /** The newest review of the payment, which may be this one. */
  readonly newest: PaymentReview | undefined;
  /** The order of the shop's bill with this id at the service; `undefined` where it has none. */
  readonly orderOf: (billId: BillId) => Promise<string | undefined>;
  /** What the operator knows of it. */
  readonly hadFailed: boolean;
}

/** `undefined` where the review is about its bill as a whole. */
export function listedIn({ detail }: Pick<ReviewRow, 'detail'>): ListedPayment | undefined {
  return (JSON.parse(detail) as { listed?: ListedPayment }).listed;
}

/**
 * A review may be older than what is known by now. What has failed, what is another bill's, and what a later review shows
 * otherwise never counts by an earlier one.
 * @throws OperatorActionError which says what to do instead
 */
export async function assertAcceptable(acceptance: Acceptance): Promise<void> {
  const { bill, review, paymentId, row, newest, orderOf, hadFailed } = acceptance;
  if (row && row.intentId !== bill.intentId) {
    throw new OperatorActionError(
      `Payment ${paymentId} belongs to another bill. Dismiss the review, or name the right one.`,
    );
  }
  const ofWholeBill = review.paymentId === null;
  if (row?.status === 'FAIL' && !(ofWholeBill && hadFailed)) {
    throw new OperatorActionError(
      `Payment ${paymentId} has failed: the ledger says FAIL. Dismiss the review. Should the service show SUCCESS by now, ` +
        `check the bill: it then counts by itself.${ofWholeBill ? ' Where it cannot be listed, say so with "hadFailed".' : ''}`,
    );
  }
  const latest = newest && listedIn(newest);
  for (const listed of [listedIn(review), latest]) {
    if (listed?.status === 'FAIL' || (row?.status === 'SUCCESS' && row.statusText === 'FAIL')) {
      throw new OperatorActionError(
        `The service listed payment ${paymentId} as FAIL last, so it does not count. Dismiss the review.`,
      );
    }
    if (!listed || listed.billId === null || listed.billId === bill.billId) continue;
    const order = await orderOf(listed.billId);
    if (order !== undefined) {
      throw new OperatorActionError(
        `The service says that payment ${paymentId} is of bill ${listed.billId}, which is that of order "${order}". ` +
          'Dismiss the review, and check that bill.',
      );
    }
  }
  if (newest?.state === 'OPEN' && latest && differs(listedIn(review), latest)) {
    const { status, amount, currency } = latest;
    throw new OperatorActionError(
      `The service has listed payment ${paymentId} otherwise since: ${status ?? 'no status'}, ${amount ?? 'no amount'} ` +
        `${currency ?? 'without a currency'}. Decide the review that shows this first: ${newest.reason}, ${newest.id}.`,
    );
  }
}

function differs(listed: ListedPayment | undefined, latest: ListedPayment): boolean {
  const { status, amount, currency } = latest;
  return listed?.status !== status || listed.amount !== amount || listed.currency !== currency;
}
