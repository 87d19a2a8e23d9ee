import { createHash } from 'node:crypto';

/** The shop of all benches: its name, and the token that signs its postbacks. */
export const SHOP = { name: 'main', shopId: 'bench', token: 'bench-token-0123456789abcdef' };
export const AMOUNT = '100.05';
/** @param {number} number */
export const billId = (number) => `bill-${number}`;
/**
 * Of many shops.
 * @param {number} number
 */
export const shopName = (number) => `shop-${number}`;
/** @param {number} number */
export const orderId = (number) => `order-${number}`;

/**
 * The postback of each of so many bills, as the service sends it (section 2.5), with further fields that services add.
 * @param {{ bills: number; from?: number }} which
 */
export function bodies({ bills, from = 0 }) {
  return Array.from({ length: bills }, (_, index) => from + index).map((number) =>
    JSON.stringify({
      Status: 'SUCCESS',
      InvId: orderId(number),
      OutSum: AMOUNT,
      CurrencyIn: 'RUB',
      Commission: '2.10',
      TrsId: billId(number),
      custom: `cart ${number}`,
      AccountType: 'card',
      SignatureValue: createHash('md5')
        .update(`${AMOUNT}:${orderId(number)}:${SHOP.token}`)
        .digest('hex')
        .toUpperCase(),
    }),
  );
}
