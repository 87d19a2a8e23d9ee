import type { BillSummary, WaitingPostback } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import type { Page, PageContext } from '../common/page-context.js';
import { doneMessage } from '../labels/done.js';
import { money } from '../labels/text.js';
import { actionLink, billLink, emptyList, facts, next, section, table, time } from './parts.js';

export async function unknownOutcomesPage(context: PageContext): Promise<Page> {
  const { records, query } = context;
  const [{ rows, more }, postbacks] = await Promise.all([
    records.bills({ states: ['UNKNOWN'], before: query.get('before') ?? undefined }),
    records.waitingPostbacks(),
  ]);
  return {
    title: 'Unknown outcomes',
    place: 'unknown-outcomes',
    lead: 'Bills that were requested, but may or may not have been created by the service. They are never requested again automatically.',
    message: doneMessage(context),
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
  const { intentId, attempt } = bill;
  const content = html`${facts([
    ['Amount', money(bill.amount, bill.currency)],
    attempt > 1 && ['Attempt', attempt],
    context.scope === null && ['Shop', bill.shop],
    ['Requested', time(bill.createdAt)],
    ['Why it is unknown', bill.failure],
  ])}
  ${unknownBillActions(context, bill)}`;
  return section(`bill-${intentId}`, html`Order ${billLink(context, bill)}`, content, 'attention');
}

export function unknownBillActions(context: PageContext, { intentId, orderId }: BillSummary): Html {
  return html`<p class="actions">
    ${actionLink(context, 'attach-bill', intentId, 'Attach…', `the bill of order ${orderId}`)}
    ${actionLink(context, 'void-bill', intentId, 'Void…', `the attempt of order ${orderId}`)}
  </p>`;
}

function waiting({ scope }: PageContext, postbacks: readonly WaitingPostback[]): Html {
  const content = html`<p class="soft">
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
    })}`;
  return section('waiting', 'Postbacks that name none of our bills', content);
}
