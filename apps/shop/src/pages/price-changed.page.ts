import type { PaymentBillMismatchError } from 'nestjs-payment-acceptance';
import { html } from './html.js';
import { layout, money } from './layout.js';

type Price = Pick<PaymentBillMismatchError['asked'], 'amount' | 'currency'>;

/** A price as this page's form submits it. */
export function priceOf({ amount, currency }: Price): string {
  return `${amount} ${currency}`;
}

/** Shown if the order's price differs from that of its open bill, so that nobody pays a new price without seeing it. */
export function priceChangedPage({
  orderId,
  open,
  asked,
}: Pick<PaymentBillMismatchError, 'orderId' | 'open' | 'asked'>): string {
  return layout(
    { title: 'The price has changed' },
    html`<section class="card result">
      <h1>The price has changed</h1>
      <p class="sum">${money(asked.amount, asked.currency)}</p>
      <p>
        When you ordered, it was ${money(open.amount, open.currency)}. If you have already paid that, do not pay again:
        we will see your payment and write to you.
      </p>
      <form method="post" action="/orders/${encodeURIComponent(orderId)}/pay">
        <input type="hidden" name="price" value="${priceOf(asked)}" />
        <button>Pay ${money(asked.amount, asked.currency)}</button>
      </form>
      <p><a href="/orders/${encodeURIComponent(orderId)}">View your order</a></p>
    </section>`,
  );
}
