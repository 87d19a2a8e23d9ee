import { parseDecimal } from '../common/decimal.js';
import { firstCharacters } from '../common/ids.js';
import type { Shop } from '../model/entities.js';
import type { Parameters } from './parameters.js';

/*
 * Why the API refused a request, in one sentence for the client's developer: what was sent and what was expected. Never
 * sent to the client; tokens are cut to their first characters.
 */

const LONGEST_QUOTE = 40;
/** What clients send when their token is not configured. */
export const UNSET_TOKEN = /^(?:undefined|null|none)$/i;

/** `asked`: the shop that the request's `shop_id` names, if any. */
export function whyUnauthenticated(authorization: string | undefined, asked: Shop | undefined): string {
  if (!authorization) return 'no Authorization header: it must be "Authorization: Bearer" and the API token';
  const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (!token) {
    const scheme = /^([A-Za-z]+)( |$)/.exec(authorization)?.[1];
    return `the Authorization header is ${scheme ? `"${scheme.slice(0, LONGEST_QUOTE)} …"` : 'a token alone'}: it must be "Bearer" and the API token`;
  }
  if (/^(undefined|null|none)$/i.test(token))
    return `the bearer token is the text "${token}": the client has not set it`;
  const expected = asked ? `; that of the shop ${asked.id} begins with ${firstCharacters(asked.apiToken)}` : '';
  return `no shop has this bearer token: it begins with ${firstCharacters(token)}${expected}`;
}

/** The token is that of `shop`; `shopId` is what the request says. */
export function whyAnotherShop(shop: Shop, shopId: string, exists: boolean): string {
  const token = `begins with ${firstCharacters(shop.apiToken)}`;
  return exists
    ? `bearer token of another shop: ${token} and is that of ${shop.id}, but shop_id is ${quote(shopId)}`
    : `shop_id is ${quote(shopId)}, which is no shop here: the bearer token ${token} and is that of ${shop.id}`;
}

/** Says what arrived instead: usually the body was not sent as its Content-Type claims. */
export function whyMissing(field: string, parameters: Parameters): string {
  const names = [...parameters.keys()].map((name) => name.slice(0, LONGEST_QUOTE));
  if (names.length === 0) return `${field} is missing: neither body nor query string has any field`;
  const more = names.length > 12 ? ', …' : '';
  return `${field} is missing or empty: there are ${names.slice(0, 12).join(', ')}${more}`;
}

export function whyNoAmount(text: string): string {
  const decimal = parseDecimal(text);
  if (!decimal) {
    const comma = /^\s*\d+,\d+\s*$/.test(text) ? ': decimals follow a point, not a comma' : '';
    return `amount is no number: ${quote(text)}${comma}`;
  }
  let { scale, unscaled } = decimal;
  for (; unscaled % 10n === 0n && scale > 0; scale -= 1) unscaled /= 10n;
  return `amount has ${inWords(scale)} decimals: ${quote(text)}; the shop's setting roundAmounts takes such amounts`;
}

function inWords(count: number): string {
  return ['no', 'one', 'two', 'three', 'four', 'five', 'six'][count] ?? String(count);
}

export function quote(text: string): string {
  return JSON.stringify(text.length > LONGEST_QUOTE ? `${text.slice(0, LONGEST_QUOTE)}…` : text);
}
