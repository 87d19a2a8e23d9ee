import { createHash } from 'node:crypto';
import { type Bill, isFinal, type Payment, type Shop } from '../model/entities.js';

/**
 * The redirect's SignatureValue (section 5): the MD5 of `OutSum:InvId:token`, with the values as sent, in upper-case
 * hexadecimal. The same formula signs postbacks if the shop's `postbackSignature` says so (assumed: the formula for
 * postbacks is not documented).
 */
export function signatureOf(outSum: string, invId: string, apiToken: string): string {
  return createHash('md5').update(`${outSum}:${invId}:${apiToken}`, 'utf8').digest('hex').toUpperCase();
}

type Result = Pick<Payment, 'status' | 'commission' | 'currency' | 'amount'>;

/** The postback's fields (2.5), all of them strings. */
export function postbackFields(shop: Shop, bill: Bill, payment: Result): Record<string, string> {
  const fields = {
    Status: payment.status,
    InvId: bill.orderId,
    Commission: payment.commission,
    CurrencyIn: payment.currency,
    OutSum: payment.amount,
    TrsId: bill.id,
    ...(bill.custom === null ? {} : { custom: bill.custom }),
  };
  return shop.postbackSignature === 'none' ? fields : signFields(fields, shop);
}

/** Signs by section 5, over the OutSum and InvId that `fields` has now. */
export function signFields(fields: Record<string, string>, shop: Shop): Record<string, string> {
  return { ...fields, SignatureValue: signatureOf(fields['OutSum'] ?? '', fields['InvId'] ?? '', shop.apiToken) };
}

/** Makes JSON by 4.4, or a form (assumed). */
export function postbackBody(fields: Record<string, string>, format: Shop['postbackFormat']) {
  return format === 'json'
    ? { type: 'application/json', text: JSON.stringify(fields) }
    : { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(fields).toString() };
}

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
  const { successUrl, failUrl } = bill.addresses ?? {};
  const url = payment.status === 'SUCCESS' ? (successUrl ?? shop.successUrl) : (failUrl ?? shop.failUrl);
  if (!isFinal(payment) || url === null) return null;
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
