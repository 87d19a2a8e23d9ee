import type { BillState } from 'nestjs-payment-acceptance';
import { BILL_STATES } from 'nestjs-payment-acceptance/operations';
import { html, type Html } from '../common/html.js';
import type { Page, PageContext } from '../common/page-context.js';
import { count } from '../labels/text.js';
import { billTable, empty, stateName } from './parts.js';

export async function billsPage(context: PageContext): Promise<Page> {
  const { query, scope, records, link } = context;
  const readParameter = (name: string): string | undefined => query.get(name)?.trim() || undefined;
  /** If given, the filter is ignored. */
  const searchText = readParameter('q') && (query.get('q') ?? '');
  const state = BILL_STATES.find((each) => each === query.get('state'));
  const shop = scope === null ? readParameter('shop') : undefined;
  const before = readParameter('before');
  const [shops, { rows, more }] = await Promise.all([
    scope === null ? records.shops() : [],
    searchText === undefined
      ? records.bills({ shop, states: state && [state], before })
      : records.searchBills(searchText).then((found) => ({ rows: found, more: false })),
  ]);
  return {
    title: 'Bills',
    place: 'bills',
    content: html`<div class="halves">
        ${searchForm(context, searchText)} ${filterForm(context, state, shop, shops)}
      </div>
      ${searchText !== undefined && html`<p role="status">${count(rows.length, 'bill')} found for <code>${searchText}</code>.</p>`}
      ${
        rows.length > 0
          ? html`<section class="card" aria-label="Bills">${billTable(context, 'Bills, newest first', rows)}</section>`
          : empty(searchText === undefined ? 'No bills match.' : NOT_FOUND_MESSAGE)
      }
      <nav class="actions" aria-label="Pages">
        ${before !== undefined && html`<a class="button quiet" href="${link('bills', { state, shop })}">Newest</a>`}
        ${more && html`<a class="button quiet" href="${link('bills', { state, shop, before: rows.at(-1)?.intentId })}">Older</a>`}
      </nav>`,
  };
}

const NOT_FOUND_MESSAGE =
  'No order, bill, payment or intent has this id. Enter the complete id, exactly as written. A bill or a postback that is ' +
  'missing here may be among the lost bills or the unknown outcomes.';

function searchForm({ link }: PageContext, searchText: string | undefined): Html {
  return html`<form class="card row" method="get" action="${link('bills')}" role="search">
    <label
      >Order, bill, payment or intent
      <input
        name="q"
        value="${searchText}"
        required
        maxlength="255"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
      />
    </label>
    <button>Find</button>
  </form>`;
}

function filterForm(
  { link }: PageContext,
  state: BillState | undefined,
  shop: string | undefined,
  shops: readonly string[],
): Html {
  return html`<form class="card row" method="get" action="${link('bills')}">
    <label
      >State
      <select name="state">
        <option value="">all</option>
        ${BILL_STATES.map((each) => option(each, stateName(each), state))}
      </select>
    </label>
    ${
      shops.length > 1 &&
      html`<label
        >Shop
        <select name="shop">
          <option value="">all</option>
          ${shops.map((each) => option(each, each, shop))}
        </select>
      </label>`
    }
    <button>Show</button>
  </form>`;
}

function option(value: string, label: string, chosen: string | undefined): Html {
  return html`<option value="${value}" ${value === chosen && html` selected`}>${label}</option>`;
}
