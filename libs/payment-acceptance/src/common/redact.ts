import { databaseText } from './text.js';

const MAX_DEPTH = 4;
const MAX_FIELDS = 64;
const MAX_TEXT = 4_000;
const MAX_NAME = 255;
const MAX_JSON = 16_384;

/**
 * The fields of a callback as they are stored: without the digest, card numbers masked, limited in size, since anybody can
 * send anything. The result is plain JSON that every database accepts.
 */
export function redactFields(body: object): object {
  const kept = redact(body, 0) as object;
  if (isShort(kept) || JSON.stringify(kept).length <= MAX_JSON) return kept;
  const short = Object.entries(kept).filter(([, value]) => typeof value !== 'object' && String(value).length <= 255);
  return { ...Object.fromEntries(short), _truncated: true };
}

/** Whether its JSON cannot be too long, even if every character is escaped. A fast path. */
function isShort(kept: object): boolean {
  let length = 2;
  for (const name of Object.keys(kept)) {
    const value = (kept as Record<string, unknown>)[name];
    if (typeof value === 'object' && value !== null) return false;
    length += 6 * (name.length + String(value).length) + 6;
  }
  return length <= MAX_JSON;
}

/** A cache: senders use the same few names again and again. */
const NAMES = new Map<string, string | undefined>();
const MAX_KEPT_NAMES = 256;

function keptName(name: string): string | undefined {
  if (NAMES.has(name)) return NAMES.get(name);
  const kept = /signature/i.test(name) ? undefined : maskCards(cleanText(name, MAX_NAME));
  if (NAMES.size < MAX_KEPT_NAMES && name.length <= MAX_NAME) NAMES.set(name, kept);
  return kept;
}

function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return isPlain(value) ? value : maskCards(cleanText(value));
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return maskNumber(value);
  if (typeof value !== 'object' || depth >= MAX_DEPTH) return undefined;
  if (Array.isArray(value)) return value.slice(0, MAX_FIELDS).map((item) => redact(item, depth + 1) ?? null);
  const fields: Record<string, unknown> = {};
  for (const name of Object.keys(value).slice(0, MAX_FIELDS)) {
    const kept = keptName(name);
    if (kept === undefined) continue;
    const item = redact((value as Record<string, unknown>)[name], depth + 1);
    // A name like any other, but assigning to it would set the prototype.
    if (kept === '__proto__') Object.defineProperty(fields, kept, { value: item, enumerable: true });
    else fields[kept] = item;
  }
  return fields;
}

/** Masks numbers of 12 or more digits whatever their check digit: long ones have lost their last digits to rounding. */
function maskNumber(value: number | boolean | null): unknown {
  const digits = String(value).replace(/\D/g, '');
  return digits.length >= 12 ? masked(digits) : value;
}

function cleanText(text: string, limit = MAX_TEXT): string {
  return databaseText(text.slice(0, limit));
}

/** Other things made of digits and separators: a date, with or without a time, and a UUID that has a letter. */
const NO_CARD =
  /((?<!\d)(?:19|20)\d\d[-./](?:0[1-9]|1[0-2])[-./][0-3]\d(?:[ T][0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)?(?!\d)|\b(?=[\d-]{0,35}[a-f])[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b)/i;
const SEPARATOR = /((?:%20|[^\p{L}\p{N}]){1,3})/u;
const DIGITS = /\d(?:(?:%20|[^\p{L}\p{N}]){0,3}\d){11,}/gu;

/**
 * Masks everything that looks like a card number: 12 to 19 digits with a valid check digit, with up to three characters
 * between digits that are neither letters nor digits. Other digits may be adjacent (`7 4111 1111 1111 1111`). Dates and
 * UUIDs stay. Digits may be of any script or width, and written as entities of HTML.
 */
export function maskCards(text: string): string {
  const plain = plainDigits(text);
  if (!hasDigitsOfCard(plain)) return text;
  // Captured dates and UUIDs are at odd indices.
  const parts = plain.split(NO_CARD);
  const masked = parts.map((part, index) => (index % 2 === 1 ? part : part.replace(DIGITS, maskRun))).join('');
  return masked === plain ? text : masked;
}

/** An entity of a character, or of a blank or a dash that may stand between digits. */
const ENTITY = /&(?:#(\d{1,7})|#x([\da-f]{1,6})|(nbsp|ensp|emsp|thinsp|shy|zwn?j|ndash|mdash|hyphen|minus));/gi;

/** The text with ASCII digits in place of all others, as far as that may show a card number. */
function plainDigits(text: string): string {
  const decoded = text.includes('&') ? text.replace(ENTITY, decodedEntity) : text;
  if (/^[\0-\x7f]*$/.test(decoded)) return decoded;
  return decoded.normalize('NFKC').replace(/[^\P{Nd}0-9]/gu, asciiDigit);
}

function decodedEntity(_whole: string, decimal?: string, hexadecimal?: string): string {
  const code = decimal === undefined ? parseInt(hexadecimal ?? '20', 16) : Number(decimal);
  // Neither a control character nor half a surrogate pair: databases reject some of them.
  return code < 32 || (code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff ? ' ' : String.fromCodePoint(code);
}

/** The decimal digits of each script follow one another, from 0 to 9, and no other script's stand before them. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - value - 1))) value += 1;
  return String(value);
}

/** Whether the text needs no change: short, printable ASCII, too few digits for a card. A fast path. */
function isPlain(text: string): boolean {
  return text.length <= MAX_NAME && /^[ -~]*$/.test(text) && !hasDigitsOfCard(text);
}

/** Whether the text has enough digits for a card number. Most do not, and need no closer look. */
function hasDigitsOfCard(text: string): boolean {
  let digits = 0;
  for (let at = 0; at < text.length && digits < 12; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= 48 && code <= 57) digits += 1;
  }
  return digits >= 12;
}

function maskRun(run: string): string {
  const groups = run.split(SEPARATOR);
  let text = '';
  for (let index = 0; index < groups.length; index += 2) {
    const { digits, end } = longestCard(groups, index);
    text += digits === '' ? (groups[index] ?? '') : masked(digits);
    text += groups[end + 1] ?? '';
    index = end;
  }
  return text;
}

function masked(digits: string): string {
  return `${digits.slice(0, 6)}******${digits.slice(-4)}`;
}

/** The longest card number made of whole groups, beginning at `start`; separators are at odd indices. */
function longestCard(groups: readonly string[], start: number): { digits: string; end: number } {
  let longest = { digits: '', end: start };
  let digits = '';
  for (let end = start; end < groups.length && digits.length <= 19; end += 2) {
    digits += groups[end] ?? '';
    if (digits.length >= 12 && digits.length <= 19 && hasCheckDigit(digits)) longest = { digits, end };
  }
  return longest;
}

/** The Luhn algorithm. */
function hasCheckDigit(digits: string): boolean {
  const sum = Array.from(digits)
    .reverse()
    .reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return sum % 10 === 0;
}
