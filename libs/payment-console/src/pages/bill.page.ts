import type { BillHistory } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import { requireFound, type Page, type PageContext } from '../common/page-context.js';
import { doneMessage } from '../labels/done.js';
import { count, money } from '../labels/text.js';
import { billTable, facts, section, stateTag, time } from './parts.js';
import { reviewCard } from './reviews.page.js';
import { timeline } from './timeline.js';
import { unknownBillActions } from './unknown-outcomes.page.js';

/** To keep the page small, only the first and the newest of a flood of callbacks are shown. */
const MAX_FIRST_CALLBACKS = 2;
const MAX_NEWEST_CALLBACKS = 10;

export async function billPage(context: PageContext, intentId: string): Promise<Page> {
  const history = requireFound(await context.records.history(intentId), 'bill');
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
    lead: html`${money(bill.amount, bill.currency)}, shop
    ${bill.shop}${bill.attempt > 1 && `, attempt ${bill.attempt}`}${bill.orderCancelledAt !== null && html`, order cancelled ${time(bill.orderCancelledAt)}`}`,
    message: doneMessage(context),
    content: html`${open.map((review) => reviewCard(context, review))}
      ${bill.state === 'UNKNOWN' && unknownCard(context, bill)}
      <div class="split">
        ${section(
          'history',
          'What happened',
          html`${truncated && html`<p class="soft">This is more than one page can show: some entries of each kind are omitted.</p>`}
          ${
            !all &&
            html`<p class="soft">
              ${count(history.callbacks.length - callbacks.length, 'callback')} between the first and the newest are not
              shown. <a href="${context.link(`bills/${bill.intentId}`, { callbacks: 'all' })}">Show all of them</a>
            </p>`
          }
          ${timeline(context, { ...history, callbacks })}`,
        )}
        ${section('record', 'The bill', recordOf(history))}
      </div>
      ${
        attempts.length > 1 &&
        section('attempts', 'All bills of the order', billTable(context, 'Bills of the order, oldest first', attempts))
      }`,
  };
}

function unknownCard(context: PageContext, bill: BillHistory['bill']): Html {
  const content = html`<p>
      Look up order <code>${bill.orderId}</code> at the service. If it has a bill, attach it; if not, void the attempt.
    </p>
    ${unknownBillActions(context, bill)}`;
  return section('unknown', 'Did the service create this bill?', content, 'attention');
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
