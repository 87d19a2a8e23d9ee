import { html, type Html, money } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import type { Bill, Callback, Instant, Payment, Shop } from '../../model/entities.js';
import type { FaultDocument } from '../../model/fault-document.js';
import { billState, callbacksTag } from './bill-state.js';
import { consolePage, table, tag, time } from './layout.js';

export interface BillRow {
  bill: Bill;
  shop: Shop;
  payments: readonly Payment[];
  callbacks: readonly Callback[];
}

export interface BillsView {
  rows: readonly BillRow[];
  /** Empty if there is none. */
  search: string;
  /** The address of the older bills; null if there are none. */
  older: string | null;
  faults: FaultDocument;
  now: Instant;
  /** The address of the sandbox, as the browser knows it. */
  address: string;
  shopId: string;
  /** How many of the stored requests to create a bill were refused. */
  refusedCreations: number;
}

export function billsPage(view: BillsView): Page {
  const { rows, search, older, faults, now, refusedCreations: refused } = view;
  const inForce = Object.keys({ ...faults.requests, ...faults.postbacks }).length;
  const bills = table('Bills', ['Order', 'State', 'Amount', 'Postbacks', 'Shop', 'Created'], rows.map(billRow));
  return consolePage({
    title: 'Bills',
    place: 'bills',
    lead: 'Bills of all shops, newest first. The page updates automatically.',
    content: html`<div class="facts-row">
        <a href="/sandbox/console/faults"
          ><span>Faults</span>${inForce === 0 ? tag('none') : tag(`${inForce} in force`, 'warn')}</a
        >
        <a href="/sandbox/console/clock"><span>Clock</span>${time(now)}</a>
        ${
          refused > 0 &&
          html`<a href="/sandbox/console/requests?problems"
            ><span>Refused creations</span>${tag(String(refused), 'bad')}</a
          >`
        }
      </div>
      <section class="card">
        <form class="row" role="search" action="/sandbox">
          <label>Order, bill or description<input type="search" name="q" value="${search}" /></label>
          <button class="quiet">Find</button>
        </form>
        ${rows.length > 0 ? bills : search === '' ? firstBillHelp(view) : html`<p>No bill matches “${search}”.</p>`}
        ${older !== null && html`<p><a href="${older}">Older bills</a></p>`}
      </section>`,
  });
}

function billRow({ bill, shop, payments, callbacks }: BillRow): Html {
  return html`<tr id="bill-${bill.id}">
    <td>
      <a href="/sandbox/console/bills/${bill.id}">${bill.orderId || bill.id}</a><br /><span class="note"
        >${bill.name || bill.description}</span
      >
    </td>
    <td>${tag(...billState(bill, payments))}</td>
    <td>${money(bill.amount, bill.currency)}</td>
    <td>${callbacksTag(callbacks)}</td>
    <td>${shop.name ?? shop.id}</td>
    <td class="note">${time(bill.createdAt)}</td>
  </tr> `;
}

function firstBillHelp({ address, shopId }: BillsView): Html {
  return html`<div>
    <p>
      No bills yet. Buy something in your shop, or create a bill as your shop would, with the token from
      <a href="/sandbox/console/shops">the shop’s settings</a>:
    </p>
    <pre tabindex="0">
curl ${address}/api/v1/bill/create \\
  -H 'Authorization: Bearer TOKEN' \\
  -F amount=100.05 -F order_id=order-1 -F shop_id=${shopId} -F currency_in=RUB</pre>
  </div>`;
}
