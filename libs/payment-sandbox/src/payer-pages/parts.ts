import { type Html, html } from '../common/html.js';
import { money } from '../common/money.js';
import type { Page } from '../common/page.js';
import type { Amount, Bill, Payment, Shop } from '../model/entities.js';

export interface BillToPay {
  shop: Shop;
  bill: Bill;
  /** What the payer pays in total: exact text, the payer's commission included. */
  due: Amount;
  /** The commission, whoever bears it. */
  commission: Amount;
}

interface Content extends Omit<Page, 'body'> {
  content: Html;
  /** Shown beside the content if there is room. */
  beside?: Html;
  /** The address that the script polls for the payment's result. */
  wait?: string;
}

export function page({ content, beside, wait, ...rest }: Content): Page {
  return {
    ...rest,
    body: html`<body class="payer">
      <header>Sandbox: no money moves. Do not use a real card.</header>
      <main${beside && html` class="two"`}${wait !== undefined && html` data-wait="${wait}"`}>
        <section class="card${!beside && ' result'}">${content}</section>
        ${beside}
      </main>
    </body>`,
  };
}

/** Shown if the bill has an address for payers who do not pay. */
export function backToShop({ addresses }: Bill): Html | false {
  const url = addresses?.returnUrl ?? null;
  return url !== null && html`<p class="note"><a href="${url}">Back to the shop without paying</a></p>`;
}

export function summary(toPay: BillToPay): Html {
  const { shop, bill, due, commission } = toPay;
  const free = commission === '0.00';
  const hasDescription = bill.name !== '' && bill.description !== '' && bill.name !== bill.description;
  return html`<p class="shop">
      <span aria-hidden="true">${nameOf(shop).slice(0, 1).toUpperCase()}</span>${nameOf(shop)}
    </p>
    <p class="sum">${money(due, bill.currency)}</p>
    ${breakdown([
      ['For', whatFor(bill)],
      ...(hasDescription ? [['Description', bill.description] as const] : []),
      ...(bill.orderId === '' ? [] : [['Order', bill.orderId] as const]),
      ...(due === bill.amount ? [] : [['Price', money(bill.amount, bill.currency)] as const]),
      [
        'Commission',
        free
          ? 'none'
          : html`${money(commission, bill.currency)}, paid by ${bill.payerPaysCommission ? 'you' : 'the shop'}`,
      ],
    ])}
    ${
      due !== bill.amount &&
      html`<dl class="breakdown">
        <dt class="total">You pay</dt>
        <dd class="total">${money(due, bill.currency)}</dd>
      </dl>`
    }`;
}

export function breakdown(rows: readonly (readonly [string, string | Html])[]): Html {
  return html`<dl class="breakdown">
    ${rows.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

const SIGNS = { good: 'M16 29l8 8 16-17', bad: 'M19 19l18 18M37 19L19 37', warn: 'M28 15v16M28 38v2' };

export function sign(tone: keyof typeof SIGNS): Html {
  return html`<svg
    class="sign ${tone}"
    viewBox="0 0 56 56"
    fill="none"
    stroke="currentColor"
    stroke-width="4"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <circle cx="28" cy="28" r="25" />
    <path d="${SIGNS[tone]}" />
  </svg>`;
}

export function nameOf(shop: Shop): string {
  return shop.name ?? shop.id;
}

export function whatFor(bill: Bill): string {
  return bill.name || bill.description || 'Payment';
}

export function addressOf(payment: Payment): string {
  return `/transfer/${payment.billId}/payments/${payment.id}`;
}
