import type { RecordedReview } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import { billLink, tag } from '../pages/parts.js';
import { reviewFacts } from '../pages/reviews.page.js';
import { requireFound, type PageContext } from '../common/page-context.js';
import { adviceOn, hasFailed, reasonOf } from '../labels/reasons.js';
import { assertAmount, impossible, readYesOrNo, type Field, type OperatorAction } from './operator-action.js';

export async function acceptReview(context: PageContext, id: string): Promise<OperatorAction> {
  const review = await openReview(context, id);
  if (hasFailed(review)) {
    throw impossible('reviews', `The payment of order ${review.orderId} does not count. ${adviceOn(review)}`);
  }
  const fields = review.succeeded ? [] : missingFields(review);
  return {
    title: `Accept the review of order ${review.orderId}?`,
    place: 'reviews',
    label: 'Accept',
    basis: JSON.stringify([review.orderPaymentId, review.orderCancelledAt]),
    fields,
    content: html`${describeReview(context, review)}
      <p>
        <strong>What will happen:</strong> ${
          review.succeeded
            ? html`the payment already had its <code>payment.succeeded</code>, so the review is only closed.`
            : html`the payment counts. Its <code>payment.succeeded</code> is emitted, with your name in
                <code>acceptedBy</code>, and the bill is paid. This cannot be undone.`
        }
      </p>`,
    async perform(by, input) {
      const amount = (fields.some(({ name }) => name === 'amount') && input('amount')) || undefined;
      const hadFailed = readYesOrNo(input('hadFailed'));
      if (amount !== undefined) assertAmount(amount);
      const paymentId = input('paymentId') || undefined;
      await context.reviews.accept(review.id, { ...by, amount, paymentId, hadFailed });
      return { done: 'accepted', bill: review.intentId };
    },
  };
}

export async function dismissReview(context: PageContext, id: string): Promise<OperatorAction> {
  const review = await openReview(context, id);
  return {
    title: `Dismiss the review of order ${review.orderId}?`,
    place: 'reviews',
    label: 'Dismiss',
    content: html`${describeReview(context, review)}
      <p>
        <strong>What will happen:</strong> the review is closed; nothing else
        changes.${
          !review.succeeded &&
          review.paymentId !== null &&
          ' The payment does not count, and no one is asked about it again.'
        }
      </p>`,
    async perform(by) {
      await context.reviews.dismiss(review.id, by);
      return { done: 'dismissed', bill: review.intentId };
    },
  };
}

function describeReview(context: PageContext, review: RecordedReview): Html {
  const { shows } = reasonOf(review.reason);
  return html`<p>${tag(review.reason, 'bad')} ${shows} See the full history of order ${billLink(context, review)}.</p>
    ${reviewFacts(context, review)}
    <p><strong>What to do:</strong> ${adviceOn(review)}</p>`;
}

async function openReview({ records }: PageContext, id: string): Promise<RecordedReview> {
  const review = requireFound(await records.review(id), 'review');
  const { state, closedBy } = review;
  if (state === 'OPEN') return review;
  throw impossible('reviews', `The review was already ${state.toLowerCase()} by ${closedBy ?? 'someone'}.`);
}

function missingFields({ paymentId, detail, currency }: RecordedReview): Field[] {
  const { listed } = detail;
  const stated = listed?.currency === currency && listed.amount !== null && !/^-|^0\.00$/.test(listed.amount);
  const payment: Field = {
    name: 'paymentId',
    label: 'Payment id',
    hint: 'The payment to accept, as shown by the service.',
    required: true,
  };
  const amount: Field = {
    name: 'amount',
    label: `Amount that counts, in ${currency}`,
    hint: 'The service reports no usable amount. Example: 100.05.',
    required: true,
    inputMode: 'decimal',
  };
  const hadFailed: Field = {
    name: 'hadFailed',
    label: 'Does the ledger say FAIL?',
    hint: 'Enter yes if the ledger says FAIL, but the service now shows SUCCESS.',
  };
  const amounts = stated ? [] : [amount];
  return paymentId === null ? [payment, ...amounts, hadFailed] : amounts;
}
