import type { DeadLetter } from 'nestjs-payment-acceptance/operations';
import { filterOf, type Filter } from '../common/filter.js';
import { html, type Html } from '../common/html.js';
import type { Page, PageContext } from '../common/page-context.js';
import { doneMessage } from '../labels/done.js';
import { count } from '../labels/text.js';
import { actionLink, billLink, emptyList, next, pageAfter, table, time } from './parts.js';

export async function deadLettersPage(context: PageContext): Promise<Page> {
  const { operations, records, link } = context;
  const filter = filterOf(context.query);
  const [{ rows, more }, total] = await Promise.all([
    pageAfter(context, (limit, after) => operations.deadLetters(filter, limit, after)),
    records.countDeadLetters(filter),
  ]);
  const filtered = Object.keys(filter).length > 0;
  const replayLabel = `Replay ${filtered ? 'these' : 'all'} ${total}…`;
  return {
    title: 'Dead letters',
    place: 'dead-letters',
    lead: 'Events that could not be delivered to a consumer despite retries. Fix the cause, then replay them.',
    message: doneMessage(context),
    content: html`${filterForm(context, filter)}
    ${
      rows.length === 0
        ? emptyList(context, 'dead-letters', filtered ? 'No dead letters match.' : 'There are no dead letters.', filter)
        : html`<div class="card">
            <div class="title">
              <p role="status">${count(total, 'dead letter')}, in order of settlement</p>
              ${actionLink(context, 'replay', 'all', replayLabel, 'dead letters', filter)}
            </div>
            ${letters(context, rows)}
          </div>`
    }
    ${next(more, link('dead-letters', { ...filter, after: rows.at(-1)?.deliveryId }), 'More')}`,
  };
}

function letters(context: PageContext, rows: readonly DeadLetter[]): Html {
  return table({
    caption: 'Dead letters',
    flows: true,
    columns: ['Order', 'Event', 'Consumer', 'Last error', 'Given up', 'What to do'],
    rows: rows.map((letter) => [
      html`${billLink(context, letter)}${context.scope === null && html` <span class="soft">${letter.shop}</span>`}`,
      html`<code class="keep">${letter.event}</code>`,
      html`<code>${letter.consumer}</code>`,
      html`<code class="bad">${letter.lastError}</code>
        <span class="soft"
          >${count(letter.attempts, 'attempt')}${letter.replays > 0 && `, replayed ${letter.replays}×`}</span
        >`,
      letter.endedAt && time(letter.endedAt),
      actionLink(context, 'replay', letter.deliveryId, 'Replay…', `${letter.event} of order ${letter.orderId}`),
    ]),
  });
}

function filterForm({ link, scope }: PageContext, { consumer, event, shop, orderId }: Filter): Html {
  const field = (name: string, label: string, value: string | undefined): Html =>
    html`<label
      >${label} <input name="${name}" value="${value}" maxlength="255" autocomplete="off" spellcheck="false"
    /></label>`;
  return html`<form class="card row" method="get" action="${link('dead-letters')}" role="search">
    ${field('consumer', 'Consumer', consumer)} ${field('event', 'Event', event)} ${field('orderId', 'Order', orderId)}
    ${scope === null && field('shop', 'Shop', shop)}
    <button>Show</button>
  </form>`;
}
