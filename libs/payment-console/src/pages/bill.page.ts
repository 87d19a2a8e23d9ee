import type { BillHistory } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import type { Page, PageContext } from '../common/page-context.js';
import { count, money } from '../labels/text.js';
import { actionLink, billTable, facts, stateTag, time } from './parts.js';
import { reviewCard } from './reviews.page.js';
import { timeline } from './timeline.js';

/** To keep the page small, only the first and the newest of a flood of callbacks are shown. */
const MAX_FIRST_CALLBACKS = 2;
const MAX_NEWEST_CALLBACKS = 10;

export function billPage(context: PageContext, history: BillHistory, message: Page['message']): Page {
  const { bill, attempts, reviews, truncated } = history;
  const all =
    history.callbacks.length <= MAX_FIRST_CALLBACKS + MAX_NEWEST_CALLBACKS || context.query.get('callbacks') === 'all';
  const callbacks = all
    ? history.callbacks
    : [...history.callbacks.slice(0, MAX_NEWEST_CALLBACKS), ...history.callbacks.slice(-MAX_FIRST_CALLBACKS)];
  const open = reviews.filter(({ state }) => state === 'OPEN');
  return {
    title: `Order ${bill.orderId}`,
    place: 'bills',
    tag: stateTag(bill.state),
    lead: html`${money(bill.amount, bill.currency)}, shop ${bill.shop}${bill.attempt > 1 && `, attempt ${bill.attempt}`}`,
    message,
    content: html`${open.map((review) => reviewCard(context, review))}
      ${bill.state === 'UNKNOWN' && unknownCard(context, bill)}
      <div class="split">
        <section class="card" aria-labelledby="history">
          <h2 id="history">What happened</h2>
          ${truncated && html`<p class="soft">This is more than one page can show: some entries of each kind are omitted.</p>`}
          ${
            !all &&
            html`<p class="soft">
              ${count(history.callbacks.length - callbacks.length, 'callback')} between the first and the newest are not
              shown. <a href="${context.link(`bills/${bill.intentId}`, { callbacks: 'all' })}">Show all of them</a>
            </p>`
          }
          ${timeline(context, { ...history, callbacks })}
        </section>
        <section class="card" aria-labelledby="record">
          <h2 id="record">The bill</h2>
          ${recordOf(history)}
        </section>
      </div>
      ${
        attempts.length > 1 &&
        html`<section class="card" aria-labelledby="attempts">
          <h2 id="attempts">All bills of the order</h2>
          ${billTable(context, 'Bills of the order, oldest first', attempts)}
        </section>`
      }`,
  };
}

function unknownCard(context: PageContext, { intentId, orderId }: BillHistory['bill']): Html {
  return html`<section class="card attention" aria-labelledby="unknown">
    <h2 id="unknown">Did the service create this bill?</h2>
    <p>Look up order <code>${orderId}</code> at the service. If it has a bill, attach it; if not, void the attempt.</p>
    <p class="actions">
      ${actionLink(context, 'attach-bill', intentId, 'Attach…', `the bill of order ${orderId}`)}
      ${actionLink(context, 'void-bill', intentId, 'Void…', `the attempt of order ${orderId}`)}
    </p>
  </section>`;
}

function recordOf({ bill }: BillHistory): Html {
  return facts([
    ['Intent', html`<code>${bill.intentId}</code>`],
    ['Bill at the service', bill.billId !== null && html`<code>${bill.billId}</code>`],
    ['Payment page', bill.linkPageUrl !== null && html`<code>${bill.linkPageUrl}</code>`],
    ['Description', bill.description],
    (!bill.customGiven || bill.redactedAt === null) && [
      'custom',
      html`<code>${bill.custom}</code>
        ${!bill.customGiven && html`<span class="soft">the intent id, as none was given</span>`}`,
    ],
    bill.redactedAt !== null && ['Personal data', html`removed ${time(bill.redactedAt)}`],
    ['Commission', bill.payerPaysCommission ? 'paid by the payer' : 'paid by the shop'],
    ['Last checked', bill.checkedAt === null ? 'never' : time(bill.checkedAt)],
    [
      'Next check',
      bill.nextCheckAt === null
        ? bill.billId === null
          ? 'none: there is no bill to ask about'
          : 'none: this bill is no longer checked on schedule'
        : time(bill.nextCheckAt),
    ],
    bill.lastCheckError !== null && [
      'Last check failed',
      html`<code class="bad">${bill.lastCheckError}</code> <span class="soft">${bill.failedChecks} in a row</span>`,
    ],
  ]);
}
