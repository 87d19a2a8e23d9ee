import { parseDecimal } from '../common/decimal.js';
import { firstCharacters } from '../common/ids.js';
import type { Shop } from '../model/entities.js';
import type { Parameters } from './parameters.js';

/*
 * These functions say why the API refused a request, in one sentence for the client's developer: what was sent and what
 * was expected. The console shows the sentence; the client never gets it. Tokens are cut to their first characters.
 */

const MAX_QUOTE_LENGTH = 40;
/** The patterns of a misspelt amount take quadratic time. */
const MAX_SPELLING_LENGTH = 64;
/** What clients send when their token is not configured. */
export const UNSET_TOKEN_PATTERN = /^(?:undefined|null|none)$/i;

/** Fields in which clients send a token that belongs in the header. */
const TOKEN_FIELDS = ['token', 'api_token', 'apitoken', 'access_token', 'api_key', 'apikey', 'authorization'];

/** @param namedShop the shop that the request's `shop_id` names, if any */
export function whyUnauthenticated(
  authorization: string | undefined,
  parameters: Parameters,
  namedShop: Shop | undefined,
): string {
  if (!authorization) {
    const field = [...parameters.keys()].find((name) => TOKEN_FIELDS.includes(name.toLowerCase()));
    const sent = field === undefined ? '' : `, but a field ${quote(field)}`;
    return `no Authorization header${sent}: it must be "Authorization: Bearer" followed by the API token`;
  }
  if (/^Bearer +Bearer\b/i.test(authorization)) {
    return 'the Authorization header has "Bearer" twice: the client’s token must not include it';
  }
  if (/^Bearer +["'].*["'] *$/i.test(authorization)) {
    return 'the bearer token is in quotes: the client must not send them';
  }
  const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (!token) {
    const scheme = /^([A-Za-z]+)( |$)/.exec(authorization)?.[1];
    return `the Authorization header is ${scheme ? `"${scheme.slice(0, MAX_QUOTE_LENGTH)} …"` : 'only a token'}: it must be "Bearer" followed by the API token`;
  }
  if (UNSET_TOKEN_PATTERN.test(token)) return `the bearer token is the text "${token}": the client has not set it`;
  const expected = namedShop ? `; that of shop ${namedShop.id} starts with ${firstCharacters(namedShop.apiToken)}` : '';
  return `no shop has this bearer token: it starts with ${firstCharacters(token)}${expected}`;
}

/** @param shopId what the request of the token's `shop` says */
export function whyAnotherShop(shop: Shop, shopId: string, exists: boolean): string {
  const token = `starts with ${firstCharacters(shop.apiToken)}`;
  return exists
    ? `bearer token of another shop: ${token} and belongs to ${shop.id}, but shop_id is ${quote(shopId)}`
    : `shop_id is ${quote(shopId)}, which is not a shop here: the bearer token ${token} and belongs to ${shop.id}`;
}

/** Says what arrived instead: usually the body is not in the format that its Content-Type claims. */
export function whyMissing(field: string, parameters: Parameters): string {
  if (parameters.has(field)) return `${field} is empty`;
  const names = [...parameters.keys()].map((name) => name.slice(0, MAX_QUOTE_LENGTH));
  if (names[0]?.startsWith('{')) {
    return `${field} is missing: the body is JSON, but was sent as a form; its Content-Type must be application/json`;
  }
  if (names.length === 0) return `${field} is missing: neither the body nor the query string has any fields`;
  const ellipsis = names.length > 12 ? ', …' : '';
  return `${field} is missing: got ${names.slice(0, 12).join(', ')}${ellipsis}`;
}

export function whyNoAmount(text: string): string {
  const decimal = parseDecimal(text);
  if (!decimal) {
    return `amount is not a number: ${quote(text)}${spelling(text.trim().slice(0, MAX_SPELLING_LENGTH))}`;
  }
  let { scale, unscaled } = decimal;
  for (; unscaled % 10n === 0n && scale > 0; scale -= 1) unscaled /= 10n;
  return `amount has ${inWords(scale)} decimals: ${quote(text)}; the shop's setting roundAmounts allows such amounts`;
}

function spelling(text: string): string {
  if (/^\d{1,3}([ ,\u00a0\u202f]\d{3})+(\.\d+)?$/.test(text)) return ': it must have no thousands separators';
  if (/^\d*\.?\d+[eE] \d+$/.test(text)) return ': a + in a query or a form must be sent as %2B';
  if (/^\d+,\d+$/.test(text)) return ': use a decimal point, not a comma';
  if (/^\d+(\.\d+)?\s*\p{L}{1,3}$/u.test(text)) return ': the currency belongs in currency_in';
  return '';
}

function inWords(count: number): string {
  return ['no', 'one', 'two', 'three', 'four', 'five', 'six'][count] ?? String(count);
}

export function quote(text: string): string {
  return JSON.stringify(text.length > MAX_QUOTE_LENGTH ? `${text.slice(0, MAX_QUOTE_LENGTH)}…` : text);
}
