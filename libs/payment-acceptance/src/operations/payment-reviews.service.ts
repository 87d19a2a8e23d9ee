import { decideAccepted } from '../domain/decide.js';
import { parseAmount, type DecimalAmount } from '../domain/money.js';
import { isUuid } from '../domain/uuid.js';
import type { RecordedReview } from './records.js';
import type { OperatorStore, ReviewRow } from './storage/operator.store.js';
import type { ShopScope } from '../database/scope.js';
import { assertAcceptable, listedPaymentOf } from './acceptance.js';
import type { OperationsParts } from './operations-parts.js';
import { PaymentOperatorActionError } from './operator.errors.js';
import { isServiceId, type BillId, type PaymentId } from '../domain/ids.js';
import { operatorName, type PaymentOperatorOptions } from './operator-options.js';

export interface PaymentAcceptReviewOptions extends PaymentOperatorOptions {
  /** The paid amount, if the service states none in the bill's currency: an exact decimal. Recorded with the action. */
  readonly amount?: DecimalAmount;
  /** The payment, if the review is about the bill as a whole. */
  readonly paymentId?: PaymentId;
  /**
   * Only for a review about the bill as a whole, if the ledger has the payment as FAIL: confirms that the service now shows
   * SUCCESS but refuses to list the bill, so that the payment cannot count automatically. Default `false`.
   */
  readonly hadFailed?: boolean;
}

/**
 * Decisions about mismatches, for one shop or for all. `PaymentReviews` covers all shops; its `forShop(name)` covers one,
 * and treats reviews of other shops as if they did not exist. Keep it behind your own guard.
 */
export class PaymentReviews {
  /** @internal */
  constructor(
    private readonly parts: OperationsParts,
    private readonly scope: ShopScope,
  ) {}

  /**
   * Returns a view limited to one shop, for an operator who may act for that shop only. It refuses every other shop.
   * @throws PaymentUnknownShopError
   */
  forShop(name: string): PaymentReviews {
    return new PaymentReviews(this.parts, this.parts.narrowScope(this.scope, name));
  }

  /**
   * Open reviews, oldest first, at most `limit`.
   * @param after id of the last review of the previous page
   */
  list(limit = 1_000, after?: string): Promise<RecordedReview[]> {
    return this.parts.lists.reviews(this.scope, limit, after);
  }

  /**
   * Accepts what a review is about. If the payment has had no `payment.succeeded`, that event is created with the operator's
   * name in `acceptedBy`, and the bill is paid. Otherwise (overpaid, second payment, a later change) the review is only
   * closed.
   * @throws PaymentOperatorActionError if the review is not open; if the payment or its amount must be specified, or the
   *   amount differs from what the service states; or if the
   *   latest records show that the payment has failed, belongs to another bill, or has since been listed differently
   */
  async accept(reviewId: string, options: PaymentAcceptReviewOptions): Promise<void> {
    const { settlement, store } = this.parts;
    const review = await this.open(reviewId);
    await settlement.settleByOperator(review, async (tx, bill, { firstPaymentId }) => {
      const actionId = await this.close(tx, reviewId, 'ACCEPTED', options);
      const paymentId = paymentOf(review, options);
      const payments = await settlement.payments(tx, bill, [paymentId]);
      const row = payments.find((one) => one.paymentId === paymentId);
      if (row?.intentId === bill.intentId && row.verdict === 'succeeded') return undefined;
      const newest = await store.newestReview(tx, bill.intentId, paymentId);
      const orderOf = (billId: BillId) => store.orderIdOfBill(tx, bill.shop, billId);
      const { hadFailed = false } = options;
      await assertAcceptable({ bill, review, paymentId, row, newest, orderIdOf: orderOf, hadFailed });
      const amount = amountOf(review, bill.currency, options);
      await store.amend(actionId, { amount }, tx);
      const accepted = { paymentId, amount, operator: operatorName(options.operator), listed: listedPaymentOf(review) };
      return decideAccepted(bill, firstPaymentId, payments, accepted);
    });
  }

  /**
   * Closes a review without any further effect.
   * @throws PaymentOperatorActionError if it is not open
   */
  async dismiss(reviewId: string, options: PaymentOperatorOptions): Promise<void> {
    await this.open(reviewId);
    await this.parts.store.transaction((tx) => this.close(tx, reviewId, 'DISMISSED', options));
  }

  private async open(reviewId: string): Promise<ReviewRow> {
    const review = isUuid(reviewId) ? await this.parts.store.review(reviewId, this.scope) : undefined;
    if (review?.state !== 'OPEN') throw notOpenError(reviewId);
    return review;
  }

  private async close(
    tx: Parameters<OperatorStore['closeReview']>[0],
    reviewId: string,
    state: 'ACCEPTED' | 'DISMISSED',
    { operator, note = '', paymentId, hadFailed }: PaymentAcceptReviewOptions,
  ): Promise<string> {
    const { store } = this.parts;
    const review = await store.review(reviewId, this.scope, tx);
    if (review?.state !== 'OPEN') throw notOpenError(reviewId);
    await store.closeReview(tx, reviewId, state, operator);
    const action = state === 'ACCEPTED' ? 'accept-review' : 'dismiss-review';
    const named = review.paymentId ?? paymentId ?? null;
    const detail = { note, reason: review.reason, paymentId: named, ...(hadFailed === true && { hadFailed }) };
    return store.record({ operator, action, target: reviewId, detail }, tx);
  }
}

function paymentOf(review: ReviewRow, options: PaymentAcceptReviewOptions): string {
  const paymentId = review.paymentId ?? options.paymentId;
  if (paymentId === undefined) {
    throw new PaymentOperatorActionError(
      'The review is about the whole bill: specify in "paymentId" which payment to accept.',
    );
  }
  if (!isServiceId(paymentId)) {
    throw new PaymentOperatorActionError('A payment id must be 1 to 128 visible characters without spaces.');
  }
  return paymentId;
}

function amountOf(review: ReviewRow, currency: string, options: PaymentAcceptReviewOptions): DecimalAmount {
  const listed = listedPaymentOf(review);
  const stated = listed?.currency === currency ? usableAmount(listed.amount ?? '') : undefined;
  const amount = options.amount === undefined ? stated : usableAmount(options.amount);
  if (stated !== undefined && amount !== stated) {
    throw new PaymentOperatorActionError(
      `The service states ${stated} ${currency} for this payment, which is what counts: leave out "amount".`,
    );
  }
  if (amount === undefined) {
    throw new PaymentOperatorActionError(
      `The service states no usable amount in ${currency}: specify in "amount" the amount that counts, such as "100.05".`,
    );
  }
  return amount;
}

function usableAmount(text: string): DecimalAmount | undefined {
  const amount = parseAmount(text);
  return amount === null || /^-|^0\.00$/.test(amount) ? undefined : amount;
}

function notOpenError(reviewId: string): PaymentOperatorActionError {
  return new PaymentOperatorActionError(
    `There is no open review ${reviewId.slice(0, 64)}. List the open reviews: it may have been closed meanwhile.`,
  );
}
