import { Body, Controller, Get, Header, NotFoundException, Param, ParseUUIDPipe, Post, Redirect } from '@nestjs/common';
import { IsIn } from 'class-validator';
import type { Order, ShopName } from '../orders/order.entity.js';
import { OrdersService } from '../orders/orders.service.js';
import { html, layout, type Html } from './html.js';
import { CURRENCY_SIGNS, PRODUCTS } from './products.js';

class BuyDto {
  @IsIn(PRODUCTS.map(({ id }) => id))
  product!: string;

  @IsIn(['main', 'eu'])
  shop!: ShopName;
}

const STATUS_TEXTS: Readonly<Record<Order['status'], string>> = {
  pending: 'waiting for payment',
  paid: 'paid',
  not_paid: 'not paid',
};
const REFRESH_S = 3;

@Controller()
export class OrdersPageController {
  constructor(private readonly orders: OrdersService) {}

  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  products(): string {
    const buy = (product: string, shop: ShopName, price: string, sign: string | undefined): Html =>
      html`<form method="post" action="/buy">
        <input type="hidden" name="product" value="${product}" /><input type="hidden" name="shop" value="${shop}" />
        <button>Buy for ${price} ${sign}</button>
      </form>`;
    const items = PRODUCTS.map(
      ({ id, name, text, prices }) =>
        html`<li>
          <h2>${name}</h2>
          <p>${text}</p>
          ${buy(id, 'main', prices.main, CURRENCY_SIGNS.RUB)}${buy(id, 'eu', prices.eu, CURRENCY_SIGNS.EUR)}
        </li>`,
    );
    return layout(
      { title: 'Coffee shop' },
      html`<h1>For your kitchen</h1>
        <ul class="products">
          ${items}
        </ul>`,
    );
  }

  @Post('buy')
  @Redirect()
  async buy(@Body() { product, shop }: BuyDto) {
    const chosen = PRODUCTS.find(({ id }) => id === product);
    if (!chosen) throw new NotFoundException('There is no such product.');
    const { bill } = await this.orders.create({ shop, amount: chosen.prices[shop], description: chosen.name });
    return { url: bill.linkPageUrl, statusCode: 303 };
  }

  @Get('orders')
  @Header('Content-Type', 'text/html; charset=utf-8')
  async list(): Promise<string> {
    const rows = (await this.orders.newest()).map(
      (order) =>
        html`<tr>
          <td><a href="/orders/${order.id}">${order.description}</a></td>
          <td>${order.amount} ${CURRENCY_SIGNS[order.currency] ?? order.currency}</td>
          <td class="status ${order.status}">${STATUS_TEXTS[order.status]}</td>
        </tr>`,
    );
    const table = html`<table>
      <thead>
        <tr>
          <th>Order</th>
          <th>Price</th>
          <th>State</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>`;
    return layout(
      { title: 'Orders' },
      html`<h1>Orders</h1>
        ${rows.length > 0 ? table : html`<p>None yet.</p>`}`,
    );
  }

  @Get('orders/:id')
  @Header('Content-Type', 'text/html; charset=utf-8')
  async show(@Param('id', ParseUUIDPipe) id: string): Promise<string> {
    const order = await this.orders.find(id);
    if (!order) throw new NotFoundException('There is no such order.');
    const events = order.events.map(
      ({ name, paymentId, at }) => html`<li>${at.toISOString()} ${name} <code>${paymentId}</code></li>`,
    );
    const pay = html`<form method="post" action="/orders/${order.id}/pay"><button>Pay now</button></form>`;
    return layout(
      { title: 'Order', refresh: order.status === 'pending' && REFRESH_S },
      html`<h1>${order.description}</h1>
        <div class="card">
          <p>Order <code>${order.id}</code></p>
          <p>
            ${order.amount} ${CURRENCY_SIGNS[order.currency] ?? order.currency},
            <span class="status ${order.status}">${STATUS_TEXTS[order.status]}</span>
          </p>
          ${order.note !== null && html`<p>${order.note}</p>`} ${order.status !== 'paid' && pay}
        </div>
        ${
          events.length > 0 &&
          html`<h2>Events</h2>
            <ul>
              ${events}
            </ul>`
        }`,
    );
  }

  @Post('orders/:id/pay')
  @Redirect()
  async pay(@Param('id', ParseUUIDPipe) id: string) {
    const order = await this.orders.find(id);
    if (!order) throw new NotFoundException('There is no such order.');
    if (order.status === 'paid') return { url: `/orders/${id}`, statusCode: 303 };
    return { url: (await this.orders.bill(order)).linkPageUrl, statusCode: 303 };
  }
}
