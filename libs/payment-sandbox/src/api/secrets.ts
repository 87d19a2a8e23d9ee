import { firstCharacters } from '../common/ids.js';
import { cardDigits, maskCard } from '../payments/test-cards.js';

/** Names of headers and fields whose values are secret. */
const SECRET_NAME_PATTERN = String.raw`[\w.\[\]-]*(?:token|secret|passw|api[_-]?key|authorization)[\w.\[\]-]*`;
const SECRET_HEADER_PATTERN = /^(?:cookie|proxy-authorization)$|token|secret|api-?key/i;
const SECRET_PARAMETER_PATTERN = new RegExp(String.raw`((?:^|[?&\n])${SECRET_NAME_PATTERN}=)([^&\s]+)`, 'gi');
const SECRET_JSON_PATTERN = new RegExp(String.raw`("${SECRET_NAME_PATTERN}"\s*:\s*")((?:[^"\\]|\\.)+)`, 'gi');
const SECRET_PART_PATTERN = new RegExp(
  String.raw`(name="?${SECRET_NAME_PATTERN}"?(?:\r?\n[^\r\n]+)*\r?\n\r?\n)([^\r\n]+)`,
  'gi',
);
/** Card numbers begin with 2 to 6. A timestamp in milliseconds, which many shops use as order number, does not. */
const CARD_PATTERN = /(?<![\d.])[2-6](?:[ +-]?\d){12,18}(?![\d.])/g;
/** A shorter token could be part of any word. */
const MIN_HIDDEN_TOKEN_LENGTH = 8;

/** Masks card numbers, and cuts tokens, and what the names of fields show to be secret, to their first characters. */
export function withoutSecrets(text: string, tokens: readonly string[]): string {
  let redacted = text;
  for (const token of tokens) {
    if (token.length < MIN_HIDDEN_TOKEN_LENGTH) continue;
    for (const form of new Set([token, encodeURIComponent(token)])) {
      redacted = redacted.replaceAll(form, firstCharacters(token));
    }
  }
  for (const pattern of [SECRET_PARAMETER_PATTERN, SECRET_JSON_PATTERN, SECRET_PART_PATTERN]) {
    redacted = redacted.replace(pattern, (_all, before: string, secret: string) => before + truncateSecret(secret));
  }
  return redacted.replace(CARD_PATTERN, (match) => maskCardNumber(match));
}

export function headerWithoutSecrets(name: string, value: string, tokens: readonly string[]): string {
  if (/^authorization$/i.test(name)) {
    const [, scheme = '', credentials = ''] = /^(\w+ +)?(.*)$/s.exec(value) ?? [];
    return `${scheme}${credentials === '' ? '' : truncateSecret(credentials)}`;
  }
  return SECRET_HEADER_PATTERN.test(name) ? truncateSecret(value) : withoutSecrets(value, tokens);
}

function truncateSecret(secret: string): string {
  return secret.endsWith('…') ? secret : firstCharacters(secret);
}

function maskCardNumber(text: string): string {
  const digits = cardDigits(text.replaceAll('+', ' '));
  return digits === undefined ? text : maskCard(digits);
}
