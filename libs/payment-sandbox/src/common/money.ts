import { type Html, html } from './html.js';

/** `7 450.50 RUB`, with thin spaces between thousands and the digits of the exact text. */
export function money(amount: string, currency: string): Html {
  return html`<span class="money">${groupDigits(amount)} ${currency}</span>`;
}

export function groupDigits(amount: string): string {
  return amount.replace(/\d(?=(\d{3})+(\.|$))/g, '$&\u202f');
}
