import type { Order } from '../orders/order.entity.js';
import { html, type Html } from './html.js';
import { layout, money, time } from './layout.js';
import { STATES } from './order.page.js';
import { drawingOf } from './products.js';

const MAX_SHOWN_ORDERS = 50;

/** The newest orders. */
export function ordersPage(orders: readonly Order[]): string {
  const list = html`<ul class="orders">
    ${orders.slice(0, MAX_SHOWN_ORDERS).map(item)}
  </ul>`;
  const none = html`<p>No orders yet. <a href="/">Choose something good.</a></p>`;
  return layout(
    { title: 'Orders', place: 'orders' },
    html`<h1>Orders</h1>
      <section class="card">${orders.length > 0 ? list : none}</section>`,
  );
}

function item({ id, description, amount, currency, status, createdAt }: Order): Html {
  const [name, tone] = STATES[status];
  return html`<li>
    ${drawingOf(description)}
    <span class="text"
      ><span class="line"><a href="/orders/${id}">${description}</a> ${money(amount, currency)}</span>
      <span class="line"
        ><span class="note">${time(createdAt)}</span> <span class="tag ${tone}">${name}</span></span
      ></span
    >
  </li>`;
}
