/**
 * Amounts travel as text with two decimals (`"100.05"`) and are computed as whole minor units (`10005n`); no amount
 * ever becomes a `number`.
 */
const DECIMAL_PATTERN = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/** The value is `unscaled / 10 ** scale`. */
export interface Decimal {
  unscaled: bigint;
  scale: number;
}

/** Reads `100`, `100.05`, `.5`, `1e+06`, `1.0005E+02`; `undefined` for anything but a decimal of reasonable length. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = DECIMAL_PATTERN.exec(text.trim());
  if (!match || text.length > 64) return undefined;
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  if (whole === '' && fraction === '') return undefined;
  const magnitude = BigInt(whole + fraction);
  const unscaled = sign === '-' ? -magnitude : magnitude;
  const scale = fraction.length - Number(exponent);
  return scale < 0 ? { unscaled: unscaled * 10n ** BigInt(-scale), scale: 0 } : { unscaled, scale };
}

/** Rounding noise of floating point: `0.30000000000000004` is meant as 0.30. */
const NOISE_PATTERN = /^\d*\.\d\d(?:0{5}|9{5})\d*$/;

/** Only floating-point arithmetic can have produced these decimals. */
export function isFloat(text: string): boolean {
  const decimal = parseDecimal(text);
  return decimal !== undefined && exactMinor(decimal) === undefined && NOISE_PATTERN.test(text.trim());
}

/**
 * Minor units of an amount, even one printed from a floating-point number; `undefined` if it has more than two decimals
 * that are not zero, rounding noise aside.
 */
export function parseAmount(text: string): bigint | undefined {
  const decimal = parseDecimal(text);
  return isFloat(text) ? roundToMinor(text) : decimal && exactMinor(decimal);
}

function exactMinor({ unscaled, scale }: Decimal): bigint | undefined {
  if (scale <= 2) return unscaled * 10n ** BigInt(2 - scale);
  const surplus = 10n ** BigInt(scale - 2);
  return unscaled % surplus === 0n ? unscaled / surplus : undefined;
}

/** Rounds half up any decimal that is not negative: `0.30000000000000004` is 0.30. */
export function roundToMinor(text: string): bigint | undefined {
  const decimal = parseDecimal(text);
  if (!decimal || decimal.unscaled < 0n) return undefined;
  return divideHalfUp(decimal.unscaled * 100n, 10n ** BigInt(decimal.scale));
}

/** `10005n` → `"100.05"`. */
export function formatMinor(minor: bigint): string {
  const digits = (minor < 0n ? -minor : minor).toString().padStart(3, '0');
  return `${minor < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** Reads an amount that the sandbox itself wrote. */
export function minorOf(amount: string): bigint {
  const minor = parseAmount(amount);
  if (minor === undefined) throw new TypeError(`Not an amount: ${amount}`);
  return minor;
}

/** Neither value may be negative. */
export function divideHalfUp(numerator: bigint, denominator: bigint): bigint {
  return (2n * numerator + denominator) / (2n * denominator);
}
