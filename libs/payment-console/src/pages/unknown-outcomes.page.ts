import type { BillSummary, RecordPage, WaitingPostback } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import type { Page, PageContext } from '../common/page-context.js';
import { money } from '../labels/text.js';
import { actionLink, billLink, emptyList, facts, next, table, time } from './parts.js';

export function unknownOutcomesPage(
  context: PageContext,
  { rows, more }: RecordPage<BillSummary>,
  postbacks: readonly WaitingPostback[],
  message: Page['message'],
): Page {
  return {
    title: 'Unknown outcomes',
    place: 'unknown-outcomes',
    lead: 'Bills that were requested, but may or may not have been created by the service. They are never requested again automatically.',
    message,
    content: html`${rows.length === 0 ? emptyList(context, 'unknown-outcomes', 'Every outcome is known.') : INSTRUCTIONS}
    ${rows.map((bill) => card(context, bill))}
    ${next(more, context.link('unknown-outcomes', { before: rows.at(-1)?.intentId }), 'Older')}
    ${postbacks.length > 0 && waiting(context, postbacks)}`,
  };
}

const INSTRUCTIONS = html`<p>
  <strong>What to do:</strong> look for a bill of the order at the service. If there is one, attach it: it is then
  checked at once. If there is none, void the attempt.
</p>`;

function card(context: PageContext, bill: BillSummary): Html {
  const { intentId, orderId, attempt } = bill;
  return html`<section class="card attention" aria-labelledby="bill-${intentId}">
    <h2 id="bill-${intentId}">Order ${billLink(context, bill)}</h2>
    ${facts([
      ['Amount', money(bill.amount, bill.currency)],
      attempt > 1 && ['Attempt', attempt],
      context.scope === null && ['Shop', bill.shop],
      ['Requested', time(bill.createdAt)],
      ['Why it is unknown', bill.failure],
    ])}
    <p class="actions">
      ${actionLink(context, 'attach-bill', intentId, 'Attach…', `the bill of order ${orderId}`)}
      ${actionLink(context, 'void-bill', intentId, 'Void…', `the attempt of order ${orderId}`)}
    </p>
  </section>`;
}

function waiting({ scope }: PageContext, postbacks: readonly WaitingPostback[]): Html {
  return html`<section class="card" aria-labelledby="waiting">
    <h2 id="waiting">Postbacks that name none of our bills</h2>
    <p class="soft">
      They are waiting for a bill with that id. Anybody can send one, so they prove nothing: check the service before
      you attach a bill that only a postback names. The newest are shown.
    </p>
    ${table({
      caption: 'Postbacks, newest first',
      columns: ['Named bill', 'Named order', 'Status', 'Digest', ...(scope === null ? ['Shop'] : []), 'Received'],
      rows: postbacks.map((postback) => [
        html`<code>${postback.trsId}</code>`,
        postback.orderId,
        postback.status,
        postback.digest,
        ...(scope === null ? [postback.shop] : []),
        time(postback.receivedAt),
      ]),
    })}
  </section>`;
}
