import type { LockedBill } from '../domain/bill.js';
import { statusOf, type LedgerPayment } from '../domain/payment.js';
import type { PaymentReview, ReviewRow } from './storage/operator.store.js';
import type { ReviewDetail } from './records.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import type { BillId, PaymentId } from '../domain/ids.js';

/** What the service reported about a payment when a review was opened. */
type ListedPayment = NonNullable<ReviewDetail['listed']>;

/** What is known, under the bill's lock, about a payment that an operator accepts and that has not counted yet. */
export interface Acceptance {
  readonly bill: LockedBill;
  readonly review: ReviewRow;
  readonly paymentId: PaymentId;
  readonly row: LedgerPayment | undefined;
  /** The payment's newest review, which may be this one. */
  readonly newest: PaymentReview | undefined;
  /** `undefined` if the shop has no bill with this `bill_id`. */
  readonly orderIdOf: (billId: BillId) => Promise<string | undefined>;
  /** The operator says that the payment had failed before; see `PaymentAcceptReviewOptions`. */
  readonly hadFailed: boolean;
}

/** `undefined` if the review is about the bill as a whole. */
export function listedPaymentOf({ detail }: Pick<ReviewRow, 'detail'>): ListedPayment | undefined {
  return (JSON.parse(detail) as ReviewDetail).listed;
}

/**
 * A review may be out of date: a payment that has failed, that belongs to another bill, or that a later review shows
 * differently cannot be accepted through it.
 * @throws PaymentOperatorActionError that says what to do instead
 */
export async function assertAcceptable(acceptance: Acceptance): Promise<void> {
  const { bill, review, paymentId, row, newest, orderIdOf: orderOf, hadFailed } = acceptance;
  if (row && row.intentId !== bill.intentId) {
    throw new PaymentOperatorActionError(
      `Payment ${paymentId} belongs to another bill. Dismiss the review, or specify the correct payment.`,
    );
  }
  const ofWholeBill = review.paymentId === null;
  // If the verdict is `review`, the payment has since been listed with an undocumented status.
  if (row?.status === 'FAIL' && row.verdict !== 'review' && !(ofWholeBill && hadFailed)) {
    throw new PaymentOperatorActionError(
      `Payment ${paymentId} has failed: the ledger says FAIL. Dismiss the review. If the service now shows SUCCESS, ` +
        `check the bill: the payment then counts automatically.${ofWholeBill ? ' If the service cannot list it, set "hadFailed".' : ''}`,
    );
  }
  const latest = newest && listedPaymentOf(newest);
  for (const listed of [listedPaymentOf(review), latest]) {
    if (statusOf(listed?.status) === 'FAIL' || (row?.status === 'SUCCESS' && statusOf(row.statusText) === 'FAIL')) {
      throw new PaymentOperatorActionError(
        `The service last listed payment ${paymentId} as FAIL, so it does not count. Dismiss the review.`,
      );
    }
    if (!listed || listed.billId === null || listed.billId === bill.billId) continue;
    const order = await orderOf(listed.billId);
    if (order !== undefined) {
      throw new PaymentOperatorActionError(
        `The service says that payment ${paymentId} belongs to bill ${listed.billId} of order "${order}". ` +
          'Dismiss the review, and check that bill.',
      );
    }
  }
  if (newest?.state === 'OPEN' && latest && differs(listedPaymentOf(review), latest)) {
    const { status, amount, currency } = latest;
    throw new PaymentOperatorActionError(
      `The service has since listed payment ${paymentId} differently: ${status ?? 'no status'}, ${amount ?? 'no amount'} ` +
        `${currency ?? 'without a currency'}. First decide the review that shows this: ${newest.reason}, ${newest.id}.`,
    );
  }
}

function differs(listed: ListedPayment | undefined, latest: ListedPayment): boolean {
  const { status, amount, currency } = latest;
  return listed?.status !== status || listed.amount !== amount || listed.currency !== currency;
}
