import type { RecordedReview, ReviewDetail } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import type { Page, PageContext } from '../common/page-context.js';
import { doneMessage } from '../labels/done.js';
import { adviceOn, reasonOf } from '../labels/reasons.js';
import { money } from '../labels/text.js';
import { actionLink, billLink, emptyList, facts, next, pageAfter, tag, time } from './parts.js';

export async function reviewsPage(context: PageContext): Promise<Page> {
  const { rows, more } = await pageAfter(context, (limit, after) => context.reviews.list(limit, after));
  return {
    title: 'Open reviews',
    place: 'reviews',
    lead: 'What the service shows and what was billed do not match. Nothing happens until a person decides.',
    message: doneMessage(context),
    content: html`${rows.length === 0 ? emptyList(context, 'reviews', 'There are no open reviews.') : rows.map((review) => reviewCard(context, review))}
    ${next(more, context.link('reviews', { after: rows.at(-1)?.id }), 'Later')}`,
  };
}

export function reviewCard(context: PageContext, review: RecordedReview): Html {
  const { id, orderId, reason } = review;
  return html`<section class="card attention" aria-labelledby="review-${id}">
    <div class="title">
      <h2 id="review-${id}">Order ${billLink(context, review)}</h2>
      ${tag(reason, 'bad')}
    </div>
    <p>${reasonOf(reason).shows}</p>
    ${reviewFacts(context, review)}
    <p><strong>What to do:</strong> ${adviceOn(review)}</p>
    <p class="actions">
      ${actionLink(context, 'accept-review', id, 'Accept…', `the review of order ${orderId}`)}
      ${actionLink(context, 'dismiss-review', id, 'Dismiss…', `the review of order ${orderId}`)}
    </p>
  </section>`;
}

export function reviewFacts({ scope }: PageContext, review: RecordedReview): Html {
  const { detail, newest, paymentId, ledgerStatus, succeeded, shop, billId, openedAt } = review;
  const { orderPaymentId, orderCancelledAt } = review;
  const { billed, listed } = detail;
  const last = newest?.listed;
  return facts([
    billed !== undefined && ['Billed', money(billed.amount, billed.currency)],
    listed !== undefined && ['The service listed', describeListed(listed)],
    last !== undefined &&
      describeListed(last) !== (listed && describeListed(listed)) && ['The service listed later', describeListed(last)],
    listed !== undefined &&
      listed.billId !== null &&
      listed.billId !== billId && ['Attributed to bill', html`<code>${listed.billId}</code>`],
    paymentId !== null && [
      'The ledger now has',
      `${ledgerStatus ?? 'no such payment'}${succeeded ? ', and it counts' : ''}`,
    ],
    paymentId !== null && ['Payment', html`<code>${paymentId}</code>`],
    orderPaymentId !== null &&
      orderPaymentId !== paymentId && ['The order is paid', html`by payment <code>${orderPaymentId}</code>`],
    orderCancelledAt !== null && ['The order was cancelled', time(orderCancelledAt)],
    ['Bill at the service', billId !== null && html`<code>${billId}</code>`],
    scope === null && ['Shop', shop],
    ['Open since', time(openedAt)],
  ]);
}

function describeListed({ status, amount, currency }: NonNullable<ReviewDetail['listed']>): string {
  return `${status ?? 'no status'}, ${money(amount, currency)}`;
}
