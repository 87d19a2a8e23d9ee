import { definitions, html, type Html, money } from '../../common/html.js';
import type { Page } from '../../common/page.js';
import type { Payment } from '../../model/entities.js';
import { spacedCard, TEST_CARDS } from '../../payments/test-cards.js';
import { billState } from './bill-state.js';
import { button, consolePage, option, shopAddress, tag, time } from './layout.js';
import { type History, timeline } from './timeline.js';

export function billPage(view: History): Page {
  const { bill, shop, payments } = view;
  return consolePage({
    title: bill.orderId === '' ? `Bill ${bill.id}` : `Order ${bill.orderId}`,
    place: 'bills',
    tag: tag(...billState(bill, payments)),
    content: html`<div class="split">
      <section class="card" aria-labelledby="history">
        <h2 id="history">What happened</h2>
        ${timeline(view)}
      </section>
      <div class="stack">
        <section class="card" aria-labelledby="bill">
          <h2 id="bill">The bill</h2>
          ${definitions('facts', [
            ['Amount', money(bill.amount, bill.currency)],
            ['Shop', html`<a href="${shopAddress(shop.id)}">${shop.name ?? shop.id}</a>`],
            ['Name', bill.name],
            ['Description', bill.description],
            ['Bill', html`<code>${bill.id}</code>`],
            ['custom', bill.custom],
            ...Object.entries<string | null>({ ...bill.addresses }),
            ['Commission', `paid by ${bill.payerPaysCommission ? 'the payer' : 'the shop'}`],
            ['Created', time(bill.createdAt)],
          ])}
          <p><a href="/transfer/${bill.id}">Payment page</a></p>
        </section>
        <section class="card" aria-labelledby="do">
          <h2 id="do">Actions</h2>
          ${payForm(bill.id)} ${payments.map(completion)} ${forgery(bill.id)}
        </section>
      </div>
    </div>`,
  });
}

/** Pays without the payer's page, even a bill that is paid. */
function payForm(billId: string): Html {
  return html`<form method="post" action="/sandbox/console/bills/${billId}/pay">
    <label
      >Pay with
      <select name="card">
        ${TEST_CARDS.map(({ number, does }) => option(number, `${spacedCard(number)}: ${does}`, undefined))}
      </select></label
    >
    <div class="row">
      <label>Amount<input name="amount" inputmode="decimal" placeholder="as billed" autocomplete="off" /></label>
      <button>Pay</button>
    </div>
  </form>`;
}

function completion(payment: Payment): Html | false {
  const action = `/sandbox/console/payments/${payment.id}/complete`;
  if (payment.status === 'SUCCESS') return false;
  const late = payment.status === 'FAIL';
  return html`<div id="complete-${payment.id}">
    <p class="note">Payment <code>${payment.id}</code> is ${payment.status}.</p>
    <div class="row">
      ${button(action, late ? 'Let it succeed after all' : 'Let it succeed', { outcome: 'success' })}
      ${!late && button(action, 'Let it fail', { outcome: 'fail' })}
    </div>
  </div>`;
}

function forgery(billId: string): Html {
  return html`<div class="stack tight">
    <p class="note">A SUCCESS that the service never sent, signed as a payer could. The shop must not trust it.</p>
    ${button(`/sandbox/console/bills/${billId}/forge`, 'Forge a postback')}
  </div>`;
}
