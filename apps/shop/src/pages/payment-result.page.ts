import type { PaymentResult } from 'nestjs-payment-acceptance';
import { html, layout } from './html.js';

const TEXTS: Readonly<Record<PaymentResult['result'], readonly [title: string, text: string]>> = {
  paid: ['Payment received', 'Thank you: your order is paid.'],
  failed: ['Payment failed', 'Nothing was taken. You can pay again from your order.'],
  pending: ['Payment is being checked', 'This takes a moment. The page updates by itself.'],
};

/** Where the payer arrives after paying: the payment's result and the order's number. */
export function paymentResultPage({ result, orderId, amount, currency }: PaymentResult): string {
  const [title, text] = TEXTS[result];
  return layout(
    { title },
    html`<h1 class="${result}">${title}</h1>
      <p>${text}</p>
      <div class="card">
        <p>Order <code>${orderId}</code></p>
        <p>${amount} ${currency}</p>
        <p><a href="/orders/${orderId}">To your order</a></p>
      </div>`,
  );
}
