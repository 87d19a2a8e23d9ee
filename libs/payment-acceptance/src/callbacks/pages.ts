import { createHash } from 'node:crypto';
import { shownText } from '../common/text.js';
import type { PaymentResult } from '../config/hooks.js';

const STYLE =
  ':root{color-scheme:light dark}body{font:1.125rem/1.5 system-ui,sans-serif;margin:0;display:grid;min-height:100vh;' +
  'place-items:center}main{max-width:32rem;padding:2rem;text-align:center}h1{font-size:1.5rem;margin:0 0 .5rem}' +
  'p{margin:.25rem 0}.order{opacity:.75;overflow-wrap:anywhere}';

/** The page may load nothing but its own style, and no site may frame it. */
export const PAGE_POLICY =
  `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; ` +
  `base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

const HEADLINES: Readonly<Record<PaymentResult['result'], readonly [string, string]>> = {
  paid: ['Payment received', 'Thank you. Your order is paid.'],
  failed: ['Payment failed', 'The payment did not go through. You can try again.'],
  review: ['We are checking your payment', 'The shop has to look at it. Please do not pay again.'],
  pending: ['Checking your payment', 'This takes a moment. The page updates automatically.'],
};

/** The message required by section 3.3 of the specification: the payment's result and the InvId. */
export function resultPage({ result, orderId, amount, currency }: PaymentResult): string {
  const [title, text] = HEADLINES[result];
  return page(title, [text, result === 'paid' ? `${amount} ${currency}` : ''], orderId);
}

/** Says nothing about the payment, because the redirect proves nothing. */
export function neutralPage(orderId?: string): string {
  return page('Welcome back', ['Open your order in the shop to see its status.'], orderId);
}

export function messagePage(title: string, text: string): string {
  return page(title, [text]);
}

function page(title: string, texts: readonly string[], orderId?: string): string {
  const paragraphs = texts.filter(Boolean).map((text) => `<p>${escapeHtml(text)}</p>`);
  if (orderId !== undefined) paragraphs.push(`<p class="order">Order ${escapeHtml(orderId)}</p>`);
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>` +
    `<meta name="viewport" content="width=device-width,initial-scale=1"><style>${STYLE}</style></head>` +
    `<body><main><h1>${escapeHtml(title)}</h1>${paragraphs.join('')}</main></body></html>`
  );
}

function escapeHtml(text: string): string {
  return shownText(text).replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
