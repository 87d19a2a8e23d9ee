/**
 * Money is an exact decimal string, never a `number`: decimal(10,2) as in section 8.1 of the specification,
 * always printed with two decimals (`100.05`). Arithmetic goes through whole minor units.
 */
export type DecimalAmount = string;

const DECIMAL_PATTERN = /^([+-]?)(\d{1,32})(?:\.(\d{1,32}))?(?:[eE]([+-]?\d{1,2}))?$/;
const SCALE = 2;
const AMOUNT_LIMIT = 10n ** 10n;

/**
 * Parses a decimal(10,2) exactly, including exponents (`1.0005E+02`), into canonical form (`100.05`). Returns `null`
 * for anything else: other characters, more than 8 digits before the point, or a nonzero third decimal.
 */
export function parseAmount(text: string): DecimalAmount | null {
  const match = DECIMAL_PATTERN.exec(text);
  if (!match) return null;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const shift = SCALE - fraction.length + Number(exponent);
  let minor = BigInt(whole + fraction);
  if (shift >= 0) {
    minor *= 10n ** BigInt(shift);
  } else {
    const divisor = 10n ** BigInt(-shift);
    if (minor % divisor !== 0n) return null;
    minor /= divisor;
  }
  if (minor >= AMOUNT_LIMIT) return null;
  return printMinor(sign === '-' ? -minor : minor);
}

/** Negative, zero or positive as `a` is less than, equal to or more than `b`. Both canonical. */
export function compareAmounts(a: DecimalAmount, b: DecimalAmount): number {
  const difference = toMinor(a) - toMinor(b);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** `a - b`, exactly. Both canonical. */
export function subtractAmounts(a: DecimalAmount, b: DecimalAmount): DecimalAmount {
  return printMinor(toMinor(a) - toMinor(b));
}

/** `a + b`, exactly. Both canonical; a sum may have more digits than a decimal(10,2). */
export function addAmounts(a: DecimalAmount, b: DecimalAmount): DecimalAmount {
  return printMinor(toMinor(a) + toMinor(b));
}

function toMinor(amount: DecimalAmount): bigint {
  if (!/^-?\d+\.\d{2}$/.test(amount)) throw new TypeError('An amount must be a canonical decimal such as "100.05".');
  return BigInt(amount.replace('.', ''));
}

function printMinor(minor: bigint): DecimalAmount {
  const digits = (minor < 0n ? -minor : minor).toString().padStart(SCALE + 1, '0');
  return `${minor < 0n ? '-' : ''}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`;
}
