import { isDevelopment } from '../production.js';
import type { Asset } from './asset.js';
import { html, type Html } from './html.js';
import { ICON, STYLE } from './style.js';

export interface Layout {
  readonly title: string;
  /** Enhances the page, which works without it. */
  readonly script?: Asset;
  /** Without scripts, the page reloads itself after this many seconds. */
  readonly refresh?: number | false;
  /** The section of the shop. */
  readonly place?: 'products' | 'orders';
}

const CURRENCY_SIGNS: Readonly<Record<string, string>> = { RUB: '₽', EUR: '€', USD: '$' };

export function layout({ title, script, refresh = false, place }: Layout, content: Html): string {
  const ariaCurrent = (name: Layout['place']): Html | false => name === place && html` aria-current="page"`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <link rel="stylesheet" href="${STYLE.address}" />
        <link rel="icon" href="${ICON.address}" />
        ${refresh !== false && html`<noscript><meta http-equiv="refresh" content="${refresh}" /></noscript>`}
        ${script && html`<script src="${script.address}" defer></script>`}
      </head>
      <body>
        <header>
          <a class="brand" href="/"
            ><svg viewBox="0 0 24 24" aria-hidden="true">
              <path d="M4 9h12v6a5 5 0 0 1-5 5H9a5 5 0 0 1-5-5zM16 10h2a2.5 2.5 0 0 1 0 5h-2M8 3v3M12 3v3" /></svg
            >Coffee shop</a
          >
          <nav aria-label="Shop">
            <a href="/" ${ariaCurrent('products')}>Products</a>
            <a href="/orders" ${ariaCurrent('orders')}>Orders</a>
          </nav>
        </header>
        <main>${content}</main>
        <footer>
          A sample shop: nothing here is sold, and no money moves.
          ${isDevelopment() && html`<a href="/payment-console">Payment console</a>`}
        </footer>
      </body>
    </html>`.text;
}

/** `7 450.50 ₽`: the digits of the exact text, with thin spaces between thousands. */
export function money(amount: string, currency: string): Html {
  const grouped = amount.replace(/\d(?=(\d{3})+(\.|$))/g, '$&\u202f');
  return html`<span class="money">${grouped} ${CURRENCY_SIGNS[currency] ?? currency}</span>`;
}

/** `21 Nov 2026, 12:00 UTC`, machine-readable too. */
export function time(instant: Date): Html {
  const text = instant.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
  return html`<time datetime="${instant.toISOString()}">${text} UTC</time>`;
}

/** Says what went wrong, and what to do. */
export function messagePage(title: string, text: string): string {
  return layout(
    { title },
    html`<section class="card result">
      <h1>${title}</h1>
      <p>${text}</p>
      <p><a class="button" href="/">Back to the shop</a></p>
    </section>`,
  );
}
