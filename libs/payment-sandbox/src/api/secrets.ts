import { firstCharacters } from '../common/ids.js';
import { cardDigits, maskCard } from '../payments/test-cards.js';

/** Names of headers and fields whose values are secret. */
const SECRET_NAME = String.raw`[\w.\[\]-]*(?:token|secret|passw|api[_-]?key)[\w.\[\]-]*`;
const SECRET_HEADER = /^(?:cookie|proxy-authorization)$|token|secret|api-?key/i;
const QUERY_OR_FORM = new RegExp(String.raw`((?:^|[?&\n])${SECRET_NAME}=)([^&\s]+)`, 'gi');
const JSON_MEMBER = new RegExp(String.raw`("${SECRET_NAME}"\s*:\s*")((?:[^"\\]|\\.)+)`, 'gi');
const MULTIPART = new RegExp(String.raw`(name="?${SECRET_NAME}"?(?:\r?\n[^\r\n]+)*\r?\n\r?\n)([^\r\n]+)`, 'gi');
/** Cards begin with 2 to 6; a timestamp in milliseconds, a common order number, does not. */
const CARD = /(?<![\d.])[2-6](?:[ +-]?\d){12,18}(?![\d.])/g;
/** A shorter token could be part of any word. */
const SHORTEST_HIDDEN_TOKEN = 8;

/** `text` with tokens cut to their first characters, other secrets by their field's name, and card numbers masked. */
export function withoutSecrets(text: string, tokens: readonly string[]): string {
  let hidden = text;
  for (const token of tokens) {
    if (token.length < SHORTEST_HIDDEN_TOKEN) continue;
    for (const form of new Set([token, encodeURIComponent(token)])) {
      hidden = hidden.replaceAll(form, firstCharacters(token));
    }
  }
  for (const pattern of [QUERY_OR_FORM, JSON_MEMBER, MULTIPART]) {
    hidden = hidden.replace(pattern, (_all, before: string, secret: string) => before + cut(secret));
  }
  return hidden.replace(CARD, (found) => maskedCard(found));
}

/** A header's value, safe to keep. */
export function headerWithoutSecrets(name: string, value: string, tokens: readonly string[]): string {
  if (/^authorization$/i.test(name)) {
    const [, scheme = '', credentials = ''] = /^(\w+ +)?(.*)$/s.exec(value) ?? [];
    return `${scheme}${credentials === '' ? '' : cut(credentials)}`;
  }
  return SECRET_HEADER.test(name) ? cut(value) : withoutSecrets(value, tokens);
}

function cut(secret: string): string {
  return secret.endsWith('…') ? secret : firstCharacters(secret);
}

function maskedCard(found: string): string {
  const digits = cardDigits(found.replaceAll('+', ' '));
  return digits === undefined ? found : maskCard(digits);
}
