import { memoize } from './memoize.js';
import { isObject } from './objects.js';
import { cleanLine, databaseText } from './text.js';

const MAX_DEPTH = 4;
const MAX_FIELDS = 64;
const MAX_TEXT = 4_000;
const MAX_NAME = 255;
const MAX_JSON = 16_384;

/** How many characters of names and values may still be looked at. */
interface Budget {
  remaining: number;
}

/**
 * The fields of a callback as they are stored: without the digest, with card numbers masked, limited in size, as plain
 * JSON that every database accepts. Anybody can send anything, so what is too long is cut off before it is read.
 */
export function redactFields(body: object): object {
  const budget: Budget = { remaining: MAX_JSON };
  const redacted = redact(body, 0, budget) as object;
  if (budget.remaining >= 0 && JSON.stringify(redacted).length <= MAX_JSON) return redacted;
  const short = fieldsOf(redacted).filter(([, value]) => !isObject(value) && String(value).length <= 255);
  return { ...Object.fromEntries(short), _truncated: true };
}

function fieldsOf(value: object): [string, unknown][] {
  const names = Object.keys(value).slice(0, MAX_FIELDS);
  return names.map((name) => [name, (value as Readonly<Record<string, unknown>>)[name]]);
}

/** `undefined` for what is left out. */
function redact(value: unknown, depth: number, budget: Budget): unknown {
  budget.remaining -= typeof value === 'string' ? Math.min(value.length, MAX_TEXT) : 1;
  if (budget.remaining < 0) return undefined;
  if (typeof value === 'string') return cleanText(value, MAX_TEXT);
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return maskNumber(value);
  if (typeof value !== 'object' || depth >= MAX_DEPTH) return undefined;
  if (Array.isArray(value)) return value.slice(0, MAX_FIELDS).map((item) => redact(item, depth + 1, budget) ?? null);
  const fields: Record<string, unknown> = {};
  for (const [name, fieldValue] of fieldsOf(value)) {
    budget.remaining -= Math.min(name.length, MAX_NAME);
    if (budget.remaining < 0) break;
    if (/signature/i.test(name)) continue;
    const cleanName = cleanText(name, MAX_NAME);
    const item = redact(fieldValue, depth + 1, budget);
    // A name like any other, but assigning to it would set the prototype.
    if (cleanName === '__proto__') Object.defineProperty(fields, cleanName, { value: item, enumerable: true });
    else fields[cleanName] = item;
  }
  return fields;
}

/** Masks numbers that are as long as a card's whatever their check digit: long ones have lost their last digits to rounding. */
function maskNumber(value: number | boolean | null): unknown {
  const digits = String(value).replace(/\D/g, '');
  return mayBeCard(digits, digits.length) ? maskDigits(digits) : value;
}

/** 19 digits, each after up to three separators. Each may be an entity of up to ten characters. */
const MAX_CARD_TEXT_LENGTH = 19 * 4 * 10;

/** At most `limit` characters of a text of any length: to mask megabytes would hold up everything else. */
function maskStart(text: string, limit: number): string {
  const start = text.slice(0, limit + MAX_CARD_TEXT_LENGTH);
  const masked = maskCards(start);
  // A card number that the cut has halved is not masked. It is among the last characters, even if masking has shortened
  // what comes before.
  return (start.length < text.length ? masked.slice(0, -MAX_CARD_TEXT_LENGTH) : masked).slice(0, limit);
}

function cleanText(text: string, limit: number): string {
  return databaseText(maskStart(databaseText(text), limit));
}

/** One line of at most `limit` characters, card numbers masked. */
export function maskedLine(text: string, limit: number): string {
  return maskStart(cleanLine(text), limit).toWellFormed();
}

/** Other things made of digits and separators: a date, with or without a time, and a UUID that has a letter. */
const NO_CARD =
  /((?<!\d)(?:19|20)\d\d[-./](?:0[1-9]|1[0-2])[-./][0-3]\d(?:[ T][0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)?(?!\d)|\b(?=[\d-]{0,35}[a-f])[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b)/i;

/**
 * A blank or a sign as forms and JSON write it, with letters or digits in it: `%20`, `%2D`, `%2520`, `%C2%A0`, `\u0020`,
 * `\n`. Other digits after a percent sign may begin a card number.
 */
const ENCODED = String.raw`%(?:25)*(?:20|09|[\da-f][a-f])|%c2%[89ab][\da-f]|%e[23](?:%[89ab][\da-f]){2}|\\(?:u(?:00|20)[\da-f]{2}|[nrt])`;

/** Groups of digits with up to three separators between them. */
const DIGIT_GROUPS = new RegExp(
  String.raw`(?:${ENCODED})|\d+(?:(?:${ENCODED}|(?!${ENCODED})[^\p{L}\p{N}]){1,3}\d+)*`,
  'giu',
);
const GROUP_OR_SEPARATOR = new RegExp(String.raw`(?:${ENCODED}|\D)+|\d+`, 'gi');

/**
 * Masks everything that looks like a card number: 12 to 19 digits with a valid first and check digit, and between any two digits
 * up to three characters that are neither letters nor digits. Other digits may be adjacent (`7 4111 1111 1111 1111`).
 * Dates and UUIDs stay. Digits may be of any script or width, and written as HTML entities.
 */
export function maskCards(text: string): string {
  const digitsText = plainDigits(text);
  if (!hasDigitsOfCard(digitsText)) return text;
  // Captured dates and UUIDs are at odd indices.
  const parts = digitsText.split(NO_CARD);
  const masked = parts.map((part, index) => (index % 2 === 1 ? part : part.replace(DIGIT_GROUPS, maskGroups))).join('');
  return masked === digitsText ? text : masked;
}

/** An HTML entity: numeric, or the name of a blank or a dash that may stand between digits. */
const ENTITY_PATTERN = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(nbsp|ensp|emsp|thinsp|shy|zwn?j|ndash|mdash|hyphen|minus));/gi;

/** Decodes HTML entities and replaces all other digits with ASCII digits, to look for card numbers. */
function plainDigits(text: string): string {
  const decoded = text.includes('&') ? text.replace(ENTITY_PATTERN, decodeEntity) : text;
  return /^[\0-\x7f]*$/.test(decoded) ? decoded : decoded.replace(/[^\P{N}0-9]/gu, (number) => plainNumber(number));
}

function decodeEntity(_whole: string, decimal?: string, hexadecimal?: string): string {
  const code = decimal === undefined ? parseInt(hexadecimal ?? '20', 16) : Number(decimal);
  // Control characters and halves of a surrogate pair become spaces: databases reject some of them.
  return code < 32 || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff ? ' ' : String.fromCodePoint(code);
}

/** A number of any script or form in ASCII digits, if it has a decimal value. */
const plainNumber = memoize((number) => number.normalize('NFKC').replace(/[^\P{Nd}0-9]/gu, asciiDigit), 1_000);

/** Relies on Unicode: the ten digits of each script are adjacent, and no other script's digits precede them. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return String(value);
}

/** Whether the text has enough digits for a card number; most texts do not, and need no closer look. */
function hasDigitsOfCard(text: string): boolean {
  return text.replace(/\D+/g, '').length >= 12;
}

function maskGroups(text: string): string {
  // Digits are at even indices, separators at odd ones.
  const parts: string[] = text.match(GROUP_OR_SEPARATOR) ?? [];
  for (let first = 0; first < parts.length; first += 2) {
    const end = endOfCard(parts, first);
    if (end === undefined) continue;
    const card = parts.slice(first, end).filter((_, index) => index % 2 === 0);
    parts.fill('', first, end);
    parts[first] = maskDigits(card.join(''));
    first = end - 1;
  }
  return parts.join('');
}

/** Cards begin with 2 to 9, and only those of UATP, of 15 digits, with 1: many ids are times, which begin with 1, too. */
function mayBeCard(start = '', length: number): boolean {
  return length >= 12 && (/^[2-9]/.test(start) || (length === 15 && start.startsWith('1')));
}

function maskDigits(digits: string): string {
  return `${digits.slice(0, 6)}******${digits.slice(-4)}`;
}

/**
 * The index after the last group of the longest card number (by the Luhn algorithm) that consists of whole groups, from
 * the group at `first` on; `undefined` if there is none.
 */
function endOfCard(parts: readonly string[], first: number): number | undefined {
  let end: number | undefined;
  let count = 0;
  // The Luhn sums of the digits so far: with the last digit not doubled, and with it doubled.
  let single = 0;
  let doubled = 0;
  for (let index = first; index < parts.length; index += 2) {
    const digits = parts[index] ?? '';
    count += digits.length;
    if (count > 19) break;
    for (let place = 0; place < digits.length; place += 1) {
      const digit = digits.charCodeAt(place) - 48;
      [single, doubled] = [doubled + digit, single + (digit > 4 ? 2 * digit - 9 : 2 * digit)];
    }
    if (mayBeCard(parts[first], count) && single % 10 === 0) end = index + 1;
  }
  return end;
}
