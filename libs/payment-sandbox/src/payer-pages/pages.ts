import type { Redirect } from '../callbacks/redirect.js';
import type { Bill, Payment } from '../model/entities.js';
import { spacedCard, TEST_CARDS } from '../payments/test-cards.js';
import type { CardForm, CardFormErrors } from './card-form.js';
import { type Html, html } from '../common/html.js';
import type { Page } from '../common/page.js';

/** What a page says of a bill: the bill, and what the payer pays in all. */
export interface BillToPay {
  bill: Bill;
  /** Exact text, the payer's commission included. */
  due: string;
}

function summary({ bill, due }: BillToPay): Html {
  return html`<p>${bill.name || bill.description || 'Payment'}</p>
    ${bill.name !== '' && bill.description !== '' && html`<p class="note">${bill.description}</p>`}
    <p class="amount">${due} ${bill.currency}</p>
    ${due !== bill.amount && html`<p class="note">${bill.amount} ${bill.currency} and the commission.</p>`}
    ${bill.orderId !== '' && html`<p class="note">Order ${bill.orderId}</p>`}`;
}

export function linkPage(toPay: BillToPay): Page {
  return {
    status: 200,
    title: 'Payment link',
    content: html`<h1>Payment link</h1>
      ${summary(toPay)}
      <a class="button" href="/transfer/${toPay.bill.id}">Go to payment</a>`,
  };
}

export function cardPage(toPay: BillToPay, form: Partial<CardForm> = {}, errors: CardFormErrors = {}): Page {
  return {
    status: Object.keys(errors).length === 0 ? 200 : 422,
    title: 'Pay by card',
    content: html`<h1>Pay by card</h1>
      ${summary(toPay)}
      <form method="post" action="/transfer/${toPay.bill.id}" novalidate>
        ${field('card', 'Card number', 'cc-number', '4111 1111 1111 1111', form.card, errors.card)}
        <div class="pair">
          ${field('expiry', 'Month / year', 'cc-exp', '12/30', form.expiry, errors.expiry)}
          ${field('cvc', 'Security code', 'cc-csc', '123', '', errors.cvc)}
        </div>
        <button>Pay ${toPay.due} ${toPay.bill.currency}</button>
      </form>
      <details>
        <summary>Test cards</summary>
        <ul>
          ${TEST_CARDS.map((card) => html`<li><code>${spacedCard(card.number)}</code> ${card.does}</li>`)}
        </ul>
        <p class="note">Any month to come, any security code. Any other valid number succeeds.</p>
      </details>`,
  };
}

function field(
  name: keyof CardForm,
  label: string,
  autocomplete: string,
  example: string,
  value = '',
  error?: string,
): Html {
  return html`<label
    >${label}
    <input
      name="${name}"
      value="${value}"
      placeholder="${example}"
      inputmode="${name === 'expiry' ? 'text' : 'numeric'}"
      autocomplete="${autocomplete}"
      ${error !== undefined && html` aria-invalid="true" aria-describedby="${name}-error"`}
    />
    ${error !== undefined && html`<span class="error" id="${name}-error">${error}</span>`}
  </label>`;
}

export function processingPage(payment: Payment): Page {
  const address = `/transfer/${payment.billId}/payments/${payment.id}`;
  return {
    status: 200,
    title: 'Processing the payment',
    refresh: address,
    content: html`<h1>Processing the payment</h1>
      <p class="amount">${payment.amount} ${payment.currency}</p>
      <p role="status">Card ${payment.fromCard}. This page goes on by itself.</p>
      <a class="button" href="${address}">Go on</a>`,
  };
}

/** The result, and the form that takes the payer back to the shop where the shop has set an address. */
export function resultPage(payment: Payment, redirect: Redirect | null): Page {
  const succeeded = payment.status === 'SUCCESS';
  const again = html`<p><a href="/transfer/${payment.billId}">Try again with another card</a></p>`;
  return {
    status: 200,
    title: succeeded ? 'Payment successful' : 'Payment failed',
    returnsToShop: redirect !== null,
    content: html`<h1 class="${succeeded ? 'good' : 'bad'}">${succeeded ? 'Payment successful' : 'Payment failed'}</h1>
      <p class="amount">${payment.amount} ${payment.currency}</p>
      <p>Card ${payment.fromCard}</p>
      ${redirect && returnForm(redirect)} ${!succeeded && !redirect && again}`,
  };
}

function returnForm(redirect: Redirect): Html {
  return html`<form id="return" method="post" action="${redirect.url}" accept-charset="utf-8">
    ${Object.entries(redirect.fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" /> `)}
    <button>Return to the shop</button>
  </form>`;
}

export function paidPage(toPay: BillToPay, payment: Payment): Page {
  return {
    status: 200,
    title: 'Bill paid',
    content: html`<h1 class="good">This bill is paid</h1>
      ${summary(toPay)}
      <a class="button" href="/transfer/${payment.billId}/payments/${payment.id}">Return to the shop</a>`,
  };
}

/** Why a payer cannot pay here. */
export function messagePage(status: number, title: string, message: string): Page {
  return {
    status,
    title,
    content: html`<h1>${title}</h1>
      <p>${message}</p>`,
  };
}
