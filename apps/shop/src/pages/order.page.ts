import { isFinal, type Order, type OrderEvent } from '../orders/order.entity.js';
import { versionOf } from '../orders/order-watch.js';
import { html, type Html } from './html.js';
import { layout, money, time } from './layout.js';
import { LIVE_SCRIPT } from './live.script.js';
import { drawingOf } from './products.js';

export type Tone = 'good' | 'warn' | 'bad';

/** The state of an order in words, and what it means to the buyer. */
export const STATES: Readonly<Record<Order['status'], readonly [name: string, tone: Tone, text: string]>> = {
  pending: ['Waiting for payment', 'warn', 'Your payment will appear here as soon as it arrives.'],
  paid: ['Paid', 'good', 'Thank you. We will pack your order today.'],
  not_paid: ['Not paid', 'bad', 'The payment failed, and nothing was taken. You can pay again with another card.'],
  cancelled: ['Cancelled', 'bad', 'Please do not pay for this order. If you already have, we will write to you.'],
};

const EVENTS: Readonly<Record<string, readonly [name: string, tone: Tone]>> = {
  'payment.succeeded': ['Payment received', 'good'],
  'payment.failed': ['Payment failed', 'bad'],
};

const REFRESH_SECONDS = 3;

export function orderPage(order: Order): string {
  return layout(
    {
      title: titleOf(order),
      place: 'orders',
      script: LIVE_SCRIPT,
      refresh: order.status === 'pending' && REFRESH_SECONDS,
    },
    html`<div>
        <p class="note"><a href="/orders">All orders</a></p>
        <h1>${order.description}</h1>
      </div>
      <div class="order">
        <section
          class="card"
          id="live"
          tabindex="-1"
          aria-label="State of the order"
          aria-live="polite"
          data-from="/orders/${order.id}/live"
          data-version="${versionOf(order)}"
        >
          ${orderState(order)}
        </section>
        <section class="card" aria-labelledby="details">
          ${drawingOf(order.description)}
          <h2 id="details">Your order</h2>
          <dl class="facts">
            <dt>Price</dt>
            <dd>${money(order.amount, order.currency)}</dd>
            <dt>Ordered</dt>
            <dd>${time(order.createdAt)}</dd>
            <dt>Order</dt>
            <dd><code>${order.id}</code></dd>
          </dl>
        </section>
      </div>`,
  );
}

export function titleOf({ status, description }: Order): string {
  return `${STATES[status][0]}: ${description}`;
}

/** The part that changes while the page is open. */
export function orderState(order: Order): Html {
  const [name, tone, text] = STATES[order.status];
  const isChecked = order.note !== null && !isFinal(order);
  const pay = html`<form method="post" action="/orders/${order.id}/pay">
    <button>${order.status === 'not_paid' ? 'Pay again' : 'Pay now'}</button>
  </form>`;
  const actions = html`${!isChecked && pay}
    <form method="post" action="/orders/${order.id}/cancel"><button class="quiet">Cancel the order</button></form>`;
  return html`<p class="state">
      <span class="tag ${tone}">${name}</span> ${money(order.paidAmount ?? order.amount, order.currency)}
    </p>
    ${!isChecked && html`<p>${text}</p>`} ${order.note !== null && html`<p class="bad">${order.note}</p>`}
    ${!isFinal(order) && actions}
    <ol class="steps">
      <li>Ordered<span class="note">${time(order.createdAt)}</span></li>
      ${order.events.map(step)} ${order.status === 'pending' && html`<li class="warn">Waiting for the payment</li>`}
    </ol>`;
}

function step({ name, at, paymentId }: OrderEvent): Html {
  const [text, tone] = EVENTS[name] ?? [name, 'warn'];
  return html`<li class="${tone}">
    ${text}<span class="note">${time(at)}, <code>${name}</code> <code>${paymentId}</code></span>
  </li>`;
}
