import type { PaymentResult } from 'nestjs-payment-acceptance';
import { html } from './html.js';
import { layout, money } from './layout.js';
import type { Tone } from './order.page.js';

interface Text {
  readonly title: string;
  readonly text: string;
  readonly tone: Tone;
  /** Path drawn inside a circle. */
  readonly sign: string;
}

const TEXTS: Readonly<Record<PaymentResult['result'], Text>> = {
  paid: {
    title: 'Payment received',
    text: 'Thank you: your order is paid.',
    tone: 'good',
    sign: 'M16 29l8 8 16-17',
  },
  failed: {
    title: 'Payment failed',
    text: 'Nothing was taken. You can pay again from your order, with another card.',
    tone: 'bad',
    sign: 'M19 19l18 18M37 19L19 37',
  },
  review: {
    title: 'We are checking your payment',
    text: 'We have to look at it ourselves. Please do not pay again: we will write to you.',
    tone: 'warn',
    sign: 'M28 15v16M28 37v3',
  },
  pending: {
    title: 'Checking your payment',
    text: 'This takes a moment. The page updates automatically.',
    tone: 'warn',
    sign: 'M28 15v14l9 6',
  },
};

/** Where the payer arrives after paying: the payment's result and the order's number. */
export function paymentResultPage({ result, orderId, amount, currency }: PaymentResult): string {
  const { title, text, tone, sign } = TEXTS[result];
  return layout(
    { title },
    html`<section class="card result">
      <svg class="${tone}" viewBox="0 0 56 56" aria-hidden="true">
        <circle cx="28" cy="28" r="25" />
        <path d="${sign}" />
      </svg>
      <h1>${title}</h1>
      <p class="sum">${money(amount, currency)}</p>
      <p>${text}</p>
      <p><a class="button" href="/orders/${encodeURIComponent(orderId)}">View your order</a></p>
      <p class="note">Order <code>${orderId}</code></p>
    </section>`,
  );
}
