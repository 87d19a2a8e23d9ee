import type { BillState } from 'nestjs-payment-acceptance';
import type { BillSummary, RecordPage } from 'nestjs-payment-acceptance/operations';
import type { Filter } from '../common/filter.js';
import { html, type Html, type Part } from '../common/html.js';
import type { Tone, PageContext } from '../common/page-context.js';
import { money } from '../labels/text.js';

const STATES: Readonly<Record<BillState, readonly [string, Tone | '']>> = {
  CREATING: ['being created', ''],
  OPEN: ['open', ''],
  PAID: ['paid', 'good'],
  EXPIRED: ['expired', ''],
  REJECTED: ['rejected', 'warn'],
  UNKNOWN: ['unknown outcome', 'bad'],
  VOIDED: ['voided', ''],
};

export function tag(text: string, tone: Tone | '' = ''): Html {
  return html`<span class="tag ${tone}">${text}</span>`;
}

export function stateName(state: BillState): string {
  return STATES[state][0];
}

export function stateTag(state: BillState): Html {
  return tag(...STATES[state]);
}

/**
 * `21 Nov 2026, 12:00:00 UTC`, machine-readable too.
 * @param after the time shown before this one: if it is on the same day, only the time of day is shown
 */
export function time(iso: string, after?: string): Html {
  const [, year = '', month, day, clock = ''] = /^(\d+)-(\d+)-(\d+)T([\d:]+)/.exec(iso) ?? [];
  if (after?.slice(0, 10) === iso.slice(0, 10)) return html`<time datetime="${iso}">${clock} UTC</time>`;
  const name = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')[Number(month) - 1] ?? '';
  return html`<time datetime="${iso}">${Number(day)} ${name} ${year}, ${clock} UTC</time>`;
}

export function billLink({ link }: PageContext, { intentId, orderId }: { intentId: string; orderId: string }): Html {
  return html`<a href="${link(`bills/${intentId}`)}">${orderId}</a>`;
}

/** Leaves out `null`, `false` and empty descriptions. */
export function facts(pairs: readonly (readonly [string, Part] | false)[]): Html {
  const shown = pairs.filter((pair) => pair !== false && pair[1] !== null && pair[1] !== '') as [string, Part][];
  return html`<dl class="facts">
    ${shown.map(
      ([term, description]) =>
        html`<dt>${term}</dt>
          <dd>${description}</dd>`,
    )}
  </dl>`;
}

interface Table {
  /** Read out by screen readers. */
  readonly caption: string;
  readonly columns: readonly string[];
  /** The first cell names its row. */
  readonly rows: readonly (readonly Part[])[];
  /** The cells explain themselves: on a narrow screen they flow without columns. */
  readonly flows?: boolean;
  /** The cells are numbers. */
  readonly numeric?: boolean;
}

/** Scrolls sideways, by keyboard too, if it is too wide. */
export function table({ caption, columns, rows, flows = false, numeric = false }: Table): Html {
  return html`<div class="scroll${flows && ' flows'}" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <thead>
        <tr>
          ${columns.map((column) => (column === '' ? html`<td></td>` : html`<th scope="col">${column}</th>`))}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first, ...cells]) =>
            html`<tr>
              <th scope="row">${first}</th>
              ${cells.map((cell) => html`<td ${numeric && html` class="number"`}>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

export function billTable(context: PageContext, caption: string, bills: readonly BillSummary[]): Html {
  return table({
    caption,
    flows: true,
    columns: [
      'Order',
      'State',
      'Amount',
      ...(context.scope === null ? ['Shop'] : []),
      'Bill at the service',
      'Created',
    ],
    rows: bills.map((bill) => [
      html`${billLink(context, bill)}${bill.attempt > 1 && html` <span class="soft">attempt ${bill.attempt}</span>`}`,
      stateTag(bill.state),
      html`<span class="keep">${money(bill.amount, bill.currency)}</span>`,
      ...(context.scope === null ? [bill.shop] : []),
      bill.billId === null ? html`<span class="soft">unknown</span>` : html`<code>${bill.billId}</code>`,
      time(bill.createdAt),
    ]),
  });
}

/** Named by its heading. @param kind `attention` for what awaits a person */
export function section(id: string, heading: Part, content: Part, kind: 'attention' | '' = ''): Html {
  return html`<section class="card ${kind}" aria-labelledby="${id}">
    <h2 id="${id}">${heading}</h2>
    ${content}
  </section>`;
}

/** @param subject tells screen readers what the action is about */
export function actionLink(
  { link }: PageContext,
  action: string,
  target: string,
  label: string,
  subject: string,
  query: Readonly<Record<string, string | undefined>> = {},
): Html {
  const to = link(`actions/${action}/${target}`, query);
  return html`<a class="button quiet" href="${to}">${label}<span class="visually-hidden"> ${subject}</span></a>`;
}

/** Rows per page, as in `PaymentRecords`. */
const PAGE_SIZE = 20;

/** @param read is asked for one row more than the page shows, to tell whether there are more */
export async function pageAfter<Row>(
  { query }: PageContext,
  read: (limit: number, after: string | undefined) => Promise<Row[]>,
): Promise<RecordPage<Row>> {
  const rows = await read(PAGE_SIZE + 1, query.get('after') ?? undefined);
  return { rows: rows.slice(0, PAGE_SIZE), more: rows.length > PAGE_SIZE };
}

export function empty(text: string): Html {
  return html`<p class="card soft">${text}</p>`;
}

/** On a later page, an empty list does not mean that there is nothing: somebody may have dealt with its rows meanwhile. */
export function emptyList({ query, link }: PageContext, place: string, text: string, filter: Filter = {}): Html {
  const isFirst = !query.has('after') && !query.has('before');
  if (isFirst) return empty(text);
  return html`<p class="card soft">
    Nothing further. <a href="${link(place, { ...filter })}">Show the first page</a>
  </p>`;
}

export function next(hasMore: boolean, href: string, label: string): Html {
  return html`${hasMore && html`<nav aria-label="Pages"><a class="button quiet" href="${href}">${label}</a></nav>`}`;
}
