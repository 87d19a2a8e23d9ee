import type { Redirect } from '../callbacks/messages.js';
import { definitions, groupDigits, hiddenFields, type Html, html, money } from '../common/html.js';
import type { Page } from '../common/page.js';
import type { Amount, Bill, Payment, Shop } from '../model/entities.js';
import { spacedCard, TEST_CARDS } from '../payments/test-cards.js';
import { CARD_SCRIPT, RETURN_SCRIPT, WAIT_SCRIPT } from './assets.js';
import { type CardForm, type CardFormErrors, FIELD_MESSAGES } from './card-form.js';

export interface BillToPay {
  shop: Shop;
  bill: Bill;
  /** What the payer pays in total: exact text, the payer's commission included. */
  due: Amount;
  /** The commission, whoever bears it. */
  commission: Amount;
  payments: readonly Payment[];
}

export function linkPage(toPay: BillToPay): Page {
  return page({
    title: 'Payment link',
    content: html`<h1>Payment link</h1>
      ${summary(toPay)}
      <a class="button" href="/transfer/${toPay.bill.id}">Go to payment</a>
      ${backToShop(toPay.bill)}`,
  });
}

/** @param expiry the expiry date that test cards fill in */
export function cardPage(
  toPay: BillToPay,
  expiry: string,
  form: Partial<CardForm> = {},
  errors: CardFormErrors = {},
): Page {
  const { bill, due } = toPay;
  const wrong = Object.keys(errors)[0];
  const field = (name: keyof CardForm, label: string, autocomplete: string, example: string, value = ''): Html =>
    html`<div class="field">
      <label for="${name}">${label}</label>
      <input
        id="${name}"
        name="${name}"
        value="${value}"
        placeholder="${example}"
        inputmode="numeric"
        autocomplete="${autocomplete}"
        data-empty="${FIELD_MESSAGES[name].empty}"
        data-wrong="${FIELD_MESSAGES[name].wrong}"
        ${wrong === name && html` autofocus`}
        ${errors[name] !== undefined && html` aria-invalid="true" aria-describedby="${name}-error"`}
      />${errors[name] !== undefined && html`<span class="error" id="${name}-error">${errors[name]}</span>`}
    </div>`;
  return page({
    status: wrong === undefined ? 200 : 422,
    title: wrong === undefined ? 'Pay by card' : 'Check your card: Pay by card',
    script: CARD_SCRIPT,
    content: html`<h1>Pay by card</h1>
      ${summary(toPay)}
      <form id="card-form" method="post" action="/transfer/${bill.id}" novalidate>
        <div class="card-fields">
          ${field('card', 'Card number', 'cc-number', '4111 1111 1111 1111', form.card)}
          <div class="pair">
            ${field('expiry', 'Month / year', 'cc-exp', '12/30', form.expiry)}
            ${field('cvc', 'Security code', 'cc-csc', '123', form.cvc)}
          </div>
        </div>
        <button>Pay ${groupDigits(due)} ${bill.currency}</button>
      </form>
      ${backToShop(bill)}`,
    beside: testCards(bill, expiry),
  });
}

function testCards(bill: Bill, expiry: string): Html {
  return html`<section class="card" aria-labelledby="cards">
    <h2 id="cards">Test cards</h2>
    <p class="note">Choose one to fill it in. Any future month and any security code will do.</p>
    <ul class="cards">
      ${TEST_CARDS.map(
        ({ number, does }) =>
          html`<li>
            <a href="/transfer/${bill.id}?card=${number}" data-card="${spacedCard(number)}" data-expiry="${expiry}"
              ><code>${spacedCard(number)}</code> <span class="note">${does}</span></a
            >
          </li>`,
      )}
    </ul>
    <p class="note">Any other valid number succeeds.</p>
  </section>`;
}

export function processingPage(toPay: BillToPay, payment: Payment): Page {
  const address = addressOf(payment);
  return page({
    title: 'Processing the payment',
    refresh: address,
    script: WAIT_SCRIPT,
    wait: address,
    content: html`<div class="wheel"></div>
      <h1>Processing the payment</h1>
      <p class="sum">${money(payment.amount, payment.currency)}</p>
      <p class="note" role="status">Card ${payment.fromCard}. This page updates automatically.</p>
      ${definitions('breakdown', recipient(toPay))}
      <a class="button" href="${address}">Continue</a>`,
  });
}

/** Has the form that takes the payer back to the shop if the shop has set an address. */
export function resultPage(toPay: BillToPay, payment: Payment, redirect: Redirect | null): Page {
  const succeeded = payment.status === 'SUCCESS';
  const title = succeeded ? 'Payment successful' : 'Payment failed';
  const again = html`<a class="button" href="/transfer/${payment.billId}">Try again with another card</a>`;
  return page({
    title,
    ...(redirect && { returnsToShop: true, script: RETURN_SCRIPT }),
    content: html`${sign(succeeded ? 'good' : 'bad')}
      <h1>${title}</h1>
      <p class="sum">${money(payment.amount, payment.currency)}</p>
      ${!succeeded && html`<p>Nothing was taken from the card.</p>`}
      ${definitions('breakdown', [...recipient(toPay), ['Card', payment.fromCard]])} ${redirect && returnForm(redirect)}
      ${!succeeded && !redirect && again}`,
  });
}

function returnForm(redirect: Redirect): Html {
  return html`<form id="return" method="post" action="${redirect.url}" accept-charset="utf-8">
    ${hiddenFields(redirect.fields)}
    <button>Return to the shop</button>
  </form>`;
}

export function paidPage(toPay: BillToPay, payment: Payment): Page {
  return page({
    title: 'Bill paid',
    content: html`${sign('good')}
      <h1>This bill is paid</h1>
      <p class="sum">${money(payment.amount, payment.currency)}</p>
      <p>No second payment is needed.</p>
      ${definitions('breakdown', [...recipient(toPay), ['Card', payment.fromCard]])}
      <a class="button" href="${addressOf(payment)}">Return to the shop</a>`,
  });
}

export function messagePage(status: number, title: string, message: string, advice: string): Page {
  return page({
    status,
    title,
    content: html`${sign('warn')}
      <h1>${title}</h1>
      <p>${message}</p>
      <p class="note">${advice}</p>`,
  });
}

interface Content extends Omit<Page, 'status' | 'body'> {
  /** Default 200. */
  status?: number;
  content: Html;
  /** Shown beside the content if there is room. */
  beside?: Html;
  /** The address that the script polls for the payment's result. */
  wait?: string;
}

function page({ status = 200, content, beside, wait, ...rest }: Content): Page {
  return {
    status,
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
function backToShop({ addresses }: Bill): Html | false {
  const url = addresses?.returnUrl ?? null;
  return url !== null && html`<p class="note"><a href="${url}">Back to the shop without paying</a></p>`;
}

function summary(toPay: BillToPay): Html {
  const { shop, bill, due, commission } = toPay;
  const free = commission === '0.00';
  const hasDescription = bill.name !== '' && bill.description !== '' && bill.name !== bill.description;
  return html`<p class="shop">
      <span aria-hidden="true">${nameOf(shop).slice(0, 1).toUpperCase()}</span>${nameOf(shop)}
    </p>
    <p class="sum">${money(due, bill.currency)}</p>
    ${definitions('breakdown', [
      ['For', whatFor(bill)],
      ['Description', hasDescription ? bill.description : ''],
      ['Order', bill.orderId],
      ['Price', due === bill.amount ? '' : money(bill.amount, bill.currency)],
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

const SIGNS = { good: 'M16 29l8 8 16-17', bad: 'M19 19l18 18M37 19L19 37', warn: 'M28 15v16M28 38v2' };

function sign(tone: keyof typeof SIGNS): Html {
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

function nameOf(shop: Shop): string {
  return shop.name ?? shop.id;
}

function recipient({ shop, bill }: BillToPay): [name: string, value: string][] {
  return [
    ['To', nameOf(shop)],
    ['For', whatFor(bill)],
  ];
}

function whatFor(bill: Bill): string {
  return bill.name || bill.description || 'Payment';
}

export function addressOf(payment: Payment): string {
  return `/transfer/${payment.billId}/payments/${payment.id}`;
}
