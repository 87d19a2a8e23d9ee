import type { Bill, Payment, Shop } from '../model/entities.js';
import { signatureOf } from './signature.js';

/** Where the payer's browser goes after a payment, and the form fields it posts there (2.4, 4.3). */
export interface Redirect {
  url: string;
  fields: Record<string, string>;
}

/**
 * Null while the payment has no result, or if no address is set for that result. The reference examples also carry an
 * Authorization header, which a browser's form cannot send.
 */
export function redirectOf(shop: Shop, bill: Bill, payment: Payment): Redirect | null {
  const final = payment.status === 'SUCCESS' || payment.status === 'FAIL';
  const { successUrl, failUrl } = bill.addresses ?? {};
  const url = payment.status === 'SUCCESS' ? (successUrl ?? shop.successUrl) : (failUrl ?? shop.failUrl);
  if (!final || url === null) return null;
  const orderId = asFormText(bill.orderId);
  return {
    url,
    fields: {
      InvId: orderId,
      OutSum: payment.amount,
      CurrencyIn: payment.currency,
      ...(bill.custom === null ? {} : { custom: asFormText(bill.custom) }),
      SignatureValue: signatureOf(payment.amount, orderId, shop.apiToken),
    },
  };
}

/** A browser sends each line break in a form field as CRLF, and the digest covers the text as sent. */
function asFormText(text: string): string {
  return text.replace(/\r\n?|\n/g, '\r\n');
}
