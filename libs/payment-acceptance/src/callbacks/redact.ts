const MAX_DEPTH = 4;
const MAX_FIELDS = 64;
const MAX_TEXT = 4_000;
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
    if (!/^signature/i.test(name)) fields[maskCards(cleanText(name)).slice(0, 255)] = redact(item, depth + 1);
  }
  return fields;
}

function maskNumber(value: number | boolean | null): unknown {
  return typeof value === 'number' && /\d{12,}/.test(String(value)) ? maskCards(String(value)) : value;
}

function cleanText(text: string): string {
  return text.slice(0, MAX_TEXT).replaceAll('\0', '').toWellFormed();
}

/** Masks what passes for a card number: 12 to 19 digits, spaces or hyphens between them, with a valid check digit. */
export function maskCards(text: string): string {
  return text.replace(/(?<!\d)\d(?:[ -]?\d){11,18}(?!\d)/g, (number) => {
    const digits = number.replace(/\D/g, '');
    return hasCheckDigit(digits) ? `${digits.slice(0, 6)}******${digits.slice(-4)}` : number;
  });
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
