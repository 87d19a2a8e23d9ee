const MAX_DEPTH = 4;
const MAX_FIELDS = 64;
const MAX_TEXT = 4_000;
const MAX_NAME = 255;
const MAX_JSON = 16_384;

/**
 * What of a callback's fields is kept: everything but the digest, with card numbers masked, and bounded, since anybody
 * can send anything. The result is plain JSON that a database takes.
 */
export function redactFields(body: object): object {
  const kept = redact(body, 0) as object;
  if (JSON.stringify(kept).length <= MAX_JSON) return kept;
  const short = Object.entries(kept).filter(([, value]) => typeof value !== 'object' && String(value).length <= 255);
  return { ...Object.fromEntries(short), _truncated: true };
}

function redact(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return maskCards(cleanText(value));
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return maskNumber(value);
  if (typeof value !== 'object' || depth >= MAX_DEPTH) return undefined;
  if (Array.isArray(value)) return value.slice(0, MAX_FIELDS).map((item) => redact(item, depth + 1) ?? null);
  const fields: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, item] of Object.entries(value).slice(0, MAX_FIELDS)) {
    if (!/signature/i.test(name)) fields[maskCards(cleanText(name, MAX_NAME))] = redact(item, depth + 1);
  }
  return fields;
}

/** A number of 12 digits and more is masked whatever its check digit: a long one has lost its last digits. */
function maskNumber(value: number | boolean | null): unknown {
  const digits = typeof value === 'number' ? String(value).replace(/\D/g, '') : '';
  return digits.length >= 12 ? masked(digits) : value;
}

function cleanText(text: string, limit = MAX_TEXT): string {
  return text.slice(0, limit).replaceAll('\0', '').toWellFormed();
}

/** A date, with or without its time, and a UUID (with a letter): digits and separators, too. */
const NO_CARD =
  /((?<!\d)(?:19|20)\d\d[-./](?:0[1-9]|1[0-2])[-./][0-3]\d(?:[ T][0-2]\d:[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?)?(?!\d)|\b(?=[\d-]*[a-f])[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}\b)/i;
const SEPARATOR = /((?:%20|[^\p{L}\p{N}]){1,3})/u;
const DIGITS = /\d(?:(?:%20|[^\p{L}\p{N}]){0,3}\d){11,}/gu;

/**
 * Masks what passes for a card number: 12 to 19 digits with a valid check digit, up to three characters between them that
 * are neither letters nor digits. Other digits may stand beside it (`7 4111 1111 1111 1111`). Dates and UUIDs stay.
 */
export function maskCards(text: string): string {
  // What the pattern captured stands at odd places.
  const parts = text.split(NO_CARD);
  return parts.map((part, index) => (index % 2 === 1 ? part : part.replace(DIGITS, maskRun))).join('');
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

/** The longest card number of whole groups from `start` on; separators stand between them at odd places. */
function longestCard(groups: readonly string[], start: number): { digits: string; end: number } {
  let longest = { digits: '', end: start };
  let digits = '';
  for (let end = start; end < groups.length && digits.length <= 19; end += 2) {
    digits += groups[end] ?? '';
    if (digits.length >= 12 && digits.length <= 19 && hasCheckDigit(digits)) longest = { digits, end };
  }
  return longest;
}

/** Luhn's rule. */
function hasCheckDigit(digits: string): boolean {
  const sum = Array.from(digits)
    .reverse()
    .reduce((total, digit, index) => {
      const value = Number(digit) * (index % 2 === 1 ? 2 : 1);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return sum % 10 === 0;
}
