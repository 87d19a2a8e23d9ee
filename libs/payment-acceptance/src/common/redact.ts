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

function maskNumber(value: number | boolean | null): unknown {
  return typeof value === 'number' && /\d{12,}/.test(String(value)) ? maskCards(String(value)) : value;
}

function cleanText(text: string, limit = MAX_TEXT): string {
  return text.slice(0, limit).replaceAll('\0', '').toWellFormed();
}

/**
 * Masks what passes for a card number: 12 to 19 digits with a valid check digit, single spaces or hyphens between them.
 * Other digits may stand beside it (`7 4111 1111 1111 1111`).
 */
export function maskCards(text: string): string {
  return text.replace(/\d(?:[ -]?\d){11,}/g, (run) => {
    const groups = run.split(/([ -])/);
    let masked = '';
    for (let index = 0; index < groups.length; index += 2) {
      const { digits, end } = longestCard(groups, index);
      masked += digits === '' ? (groups[index] ?? '') : `${digits.slice(0, 6)}******${digits.slice(-4)}`;
      masked += groups[end + 1] ?? '';
      index = end;
    }
    return masked;
  });
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
