import { randomUUID } from 'node:crypto';
import type { ShopName } from '../orders/order.entity.js';
import { html, type Html } from './html.js';
import { layout, money } from './layout.js';
import { renderDrawing, PRODUCTS, type Product } from './products.js';

/** The shops and the currencies they bill in. */
const SHOPS: Readonly<Record<ShopName, { readonly currency: string; readonly label: string }>> = {
  main: { currency: 'RUB', label: '₽ RUB' },
  eu: { currency: 'EUR', label: '€ EUR' },
};

export function productsPage(shop: ShopName): string {
  const choices = Object.entries(SHOPS).map(
    ([name, { label }]) => html`<a href="/?shop=${name}" ${name === shop && html` aria-current="true"`}>${label}</a>`,
  );
  return layout(
    { title: 'Coffee shop', place: 'products' },
    html`<div class="hero">
        <div>
          <h1>Good coffee, made at home</h1>
          <p>Six things are all it takes. Pay by card: it takes a minute, and you see at once whether it worked.</p>
        </div>
        <nav class="choice" aria-label="Currency">${choices}</nav>
      </div>
      <ul class="products">
        ${PRODUCTS.map((product) => item(product, shop))}
      </ul>`,
  );
}

function item(product: Product, shop: ShopName): Html {
  const { id, name, text, prices } = product;
  return html`<li>
    ${renderDrawing(product)}
    <div class="text">
      <h2>${name}</h2>
      <p class="note">${text}</p>
    </div>
    <form class="buy" method="post" action="/buy">
      <input type="hidden" name="product" value="${id}" /><input type="hidden" name="shop" value="${shop}" />
      <input type="hidden" name="order" value="${randomUUID()}" />
      <span class="price">${money(prices[shop], SHOPS[shop].currency)}</span>
      <button aria-label="Buy: ${name}">Buy</button>
    </form>
  </li>`;
}
