import type { Redirect } from '../callbacks/redirect.js';
import { type Html, html } from '../common/html.js';
import { groupDigits, money } from '../common/money.js';
import type { Page } from '../common/page.js';
import type { Bill, Payment } from '../model/entities.js';
import { spacedCard, TEST_CARDS } from '../payments/test-cards.js';
import { CARD_SCRIPT, RETURN_SCRIPT, WAIT_SCRIPT } from './assets.js';
import { type CardForm, type CardFormErrors, FIELD_MESSAGES } from './card-form.js';
import { addressOf, backToShop, type BillToPay, breakdown, nameOf, page, sign, summary, whatFor } from './parts.js';

export function linkPage(toPay: BillToPay): Page {
  return page({
    status: 200,
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

export function processingPage({ shop, bill }: BillToPay, payment: Payment): Page {
  const address = addressOf(payment);
  return page({
    status: 200,
    title: 'Processing the payment',
    refresh: address,
    script: WAIT_SCRIPT,
    wait: address,
    content: html`<div class="wheel"></div>
      <h1>Processing the payment</h1>
      <p class="sum">${money(payment.amount, payment.currency)}</p>
      <p class="note" role="status">Card ${payment.fromCard}. This page updates automatically.</p>
      ${breakdown([
        ['To', nameOf(shop)],
        ['For', whatFor(bill)],
      ])}
      <a class="button" href="${address}">Continue</a>`,
  });
}

/** Has the form that takes the payer back to the shop if the shop has set an address. */
export function resultPage({ shop, bill }: BillToPay, payment: Payment, redirect: Redirect | null): Page {
  const succeeded = payment.status === 'SUCCESS';
  const title = succeeded ? 'Payment successful' : 'Payment failed';
  const again = html`<a class="button" href="/transfer/${payment.billId}">Try again with another card</a>`;
  return page({
    status: 200,
    title,
    ...(redirect && { returnsToShop: true, script: RETURN_SCRIPT }),
    content: html`${sign(succeeded ? 'good' : 'bad')}
      <h1>${title}</h1>
      <p class="sum">${money(payment.amount, payment.currency)}</p>
      ${!succeeded && html`<p>Nothing was taken from the card.</p>`}
      ${breakdown([
        ['To', nameOf(shop)],
        ['For', whatFor(bill)],
        ['Card', payment.fromCard],
      ])}
      ${redirect && returnForm(redirect)} ${!succeeded && !redirect && again}`,
  });
}

function returnForm(redirect: Redirect): Html {
  return html`<form id="return" method="post" action="${redirect.url}" accept-charset="utf-8">
    ${Object.entries(redirect.fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" /> `)}
    <button>Return to the shop</button>
  </form>`;
}

export function paidPage({ shop, bill }: BillToPay, payment: Payment): Page {
  return page({
    status: 200,
    title: 'Bill paid',
    content: html`${sign('good')}
      <h1>This bill is paid</h1>
      <p class="sum">${money(payment.amount, payment.currency)}</p>
      <p>No second payment is needed.</p>
      ${breakdown([
        ['To', nameOf(shop)],
        ['For', whatFor(bill)],
        ['Card', payment.fromCard],
      ])}
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
