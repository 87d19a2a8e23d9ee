import type { Bill, Payment, Shop, ShopSettings } from '../model/entities.js';
import { signatureOf } from './signature.js';

/** The postback's fields (2.5), all of them strings. */
export function postbackFields(shop: Shop, bill: Bill, payment: Payment): Record<string, string> {
  return {
    Status: payment.status,
    InvId: bill.orderId,
    Commission: payment.commission,
    CurrencyIn: payment.currency,
    OutSum: payment.amount,
    TrsId: bill.id,
    ...(bill.custom === null ? {} : { custom: bill.custom }),
    ...(shop.postbackSignature === 'none'
      ? {}
      : { SignatureValue: signatureOf(payment.amount, bill.orderId, shop.apiToken) }),
  };
}

/** Signs by section 5, over the OutSum and InvId that `fields` has now. */
export function signFields(fields: Record<string, string>, shop: Shop): Record<string, string> {
  return { ...fields, SignatureValue: signatureOf(fields['OutSum'] ?? '', fields['InvId'] ?? '', shop.apiToken) };
}

/** Makes JSON by 4.4, or a form (assumed). */
export function postbackBody(
  fields: Record<string, string>,
  format: ShopSettings['postbackFormat'],
): { type: string; text: string } {
  return format === 'json'
    ? { type: 'application/json', text: JSON.stringify(fields) }
    : { type: 'application/x-www-form-urlencoded', text: new URLSearchParams(fields).toString() };
}
