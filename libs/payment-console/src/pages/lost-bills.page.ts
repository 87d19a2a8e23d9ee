import type { LostBill } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import { doneMessage } from '../labels/done.js';
import { count, money } from '../labels/text.js';
import type { Page, PageContext } from '../common/page-context.js';
import { actionLink, emptyList, facts, next, pageAfter, section, table, tag, time } from './parts.js';

export async function lostBillsPage(context: PageContext): Promise<Page> {
  const { rows, more } = await pageAfter(context, (limit, after) => context.operations.lostBills(limit, after));
  return {
    title: 'Lost bills',
    place: 'lost-bills',
    lead: 'Bills that the service created for a shop but that are missing from the ledger. Nothing happens to them until a person decides.',
    message: doneMessage(context),
    content: html`${rows.length === 0 ? emptyList(context, 'lost-bills', 'There are no lost bills.') : INSTRUCTIONS}
    ${rows.map((lost) => card(context, lost))}
    ${next(more, context.link('lost-bills', { after: rows.at(-1)?.id }), 'Later')}`,
  };
}

const INSTRUCTIONS = html`<p>
  <strong>What to do:</strong> find out at the service, or in your own books, which order the bill was created for and
  for what amount. Then import it: it is checked at once, and settles like any other. Dismiss it if another program
  created it.
</p>`;

function card(context: PageContext, lost: LostBill): Html {
  const { id, billId } = lost;
  const content = html`${lostBillFacts(context, lost)}
    <p class="actions">
      ${actionLink(context, 'take-in-bill', id, 'Import…', `bill ${billId}`)}
      ${actionLink(context, 'dismiss-lost-bill', id, 'Dismiss…', `bill ${billId}`)}
    </p>`;
  return section(`lost-${id}`, html`Bill <code>${billId}</code>`, content, 'attention');
}

/** Keeps what the service says apart from what postbacks say, which anybody could have sent. */
export function lostBillFacts(context: PageContext, lost: LostBill): Html {
  const { namedOrderId, namedOrderCount, unknownIntentId, firstPostbackAt, foundAt, askedAt, shop } = lost;
  return html`${payments(lost)}
  ${facts([
    context.scope === null && ['Shop', shop],
    [
      'Order named by a postback',
      html`${namedOrderId ?? 'none'}
      ${tag('unverified', 'warn')}${
        namedOrderCount > 1 && html` <strong>Postbacks name ${namedOrderCount} different orders.</strong>`
      }`,
    ],
    ['First postback', time(firstPostbackAt)],
    ['Confirmed by the service', time(foundAt)],
    ['Last asked', time(askedAt)],
  ])}
  ${
    unknownIntentId !== null &&
    html`<p>
      The outcome of a creation for that order is unknown. If this is its bill,
      <a href="${context.link(`actions/attach-bill/${unknownIntentId}`)}">attach it there</a> instead.
    </p>`
  }`;
}

function payments({ payments: shown, paymentCount }: LostBill): Html {
  if (shown.length === 0) {
    return html`<p>The service knows the bill, but lists no readable payment for it: look it up there.</p>`;
  }
  return html`${table({
    caption: 'Payments listed by the service',
    flows: true,
    columns: ['Payment', 'Status', 'Amount', 'Card', 'Created (service clock)'],
    rows: shown.map(({ paymentId, status, statusText, amount, currency, fromCard, createdAtText }) => [
      html`<code>${paymentId}</code>`,
      status === 'UNKNOWN' ? (statusText ?? 'no status') : status,
      html`<span class="keep">${money(amount, currency)}</span>`,
      fromCard,
      createdAtText,
    ]),
  })}
  ${paymentCount > shown.length && html`<p class="soft">${count(paymentCount, 'payment')} in all.</p>`}`;
}
