import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SEED } from '../../../../test/support/seed.js';
import { addAmounts, compareAmounts, parseAmount, subtractAmounts } from './money.js';

const LARGEST = 9_999_999_999n;
/** Whole minor units of every decimal(10,2). */
const minor = fc.bigInt({ min: -LARGEST, max: LARGEST });

/** Independent of the code under test. */
function print(value: bigint): string {
  const sign = value < 0n ? '-' : '';
  const [units, cents] = [(value < 0n ? -value : value) / 100n, (value < 0n ? -value : value) % 100n];
  return `${sign}${units}.${cents < 10n ? '0' : ''}${cents}`;
}

describe('parseAmount', () => {
  test.each([
    ['100', '100.00'],
    ['100.05', '100.05'],
    ['100.5', '100.50'],
    ['0', '0.00'],
    ['-0', '0.00'],
    ['+5', '5.00'],
    ['-1.10', '-1.10'],
    ['007', '7.00'],
    ['100.0500000', '100.05'],
    ['1e+06', '1000000.00'],
    ['1e2', '100.00'],
    ['1.0005E+02', '100.05'],
    ['10005e-2', '100.05'],
    ['99999999.99', '99999999.99'],
    ['12345678.90', '12345678.90'],
    ['0.01', '0.01'],
    [`${'0'.repeat(31)}1`, '1.00'],
    [`1.${'0'.repeat(32)}`, '1.00'],
  ])('parseAmount reads %j as %j', (text, amount) => {
    expect(parseAmount(text)).toBe(amount);
  });

  test.each([
    '', ' ', ' 1', '1 ', '1,50', '1.', '.5', '1.005', '1e-3', '100000000', '99999999.995', '1e400', '1e99', 'NaN',
    'Infinity', '0x10', '1_000', '--1', '1e', 'e5', '١٠', '1\n', '100.05 RUB', '9'.repeat(5_000), `1.${'0'.repeat(33)}`,
    `${'0'.repeat(32)}1`, '1e006', 'x1', '1x',
  ])('parseAmount refuses %j', (text) => {
    expect(parseAmount(text)).toBeNull();
  }); // prettier-ignore
});

describe(`properties of money (TEST_SEED=${SEED})`, () => {
  test('parseAmount reads every decimal(10,2) exactly, also with an exponent', () => {
    fc.assert(
      fc.property(minor, fc.integer({ min: -12, max: 12 }), (value, shift) => {
        expect(parseAmount(print(value))).toBe(print(value));
        const digits = `${value}${'0'.repeat(Math.max(0, -shift))}`;
        const exponent = -2 + Math.min(0, shift);
        expect(parseAmount(`${digits}e${exponent}`)).toBe(print(value));
      }),
    );
  });

  test('parseAmount refuses amounts beyond decimal(10,2) or with a third decimal, and never rounds them', () => {
    fc.assert(
      fc.property(
        minor,
        fc.integer({ min: 1, max: 9 }),
        fc.bigInt({ min: 10n ** 10n, max: 10n ** 30n }),
        (m, d, big) => {
          expect(parseAmount(`${print(m)}${d}`)).toBeNull();
          expect(parseAmount(print(big))).toBeNull();
          expect(parseAmount(print(-big))).toBeNull();
        },
      ),
    );
  });

  test('parseAmount never throws, and its result is canonical', () => {
    const text = fc.oneof(fc.string(), fc.stringMatching(/^[+-]?[0-9.eE+-]{0,40}$/), fc.double().map(String));
    fc.assert(
      fc.property(text, (given) => {
        const amount = parseAmount(given);
        if (amount === null) return;
        expect(amount).toMatch(/^-?(0|[1-9]\d{0,7})\.\d{2}$/);
        expect(amount).not.toBe('-0.00');
        expect(parseAmount(amount)).toBe(amount);
      }),
      { numRuns: 1_000 },
    );
  });

  test('comparing, adding and subtracting amounts agree with whole minor units', () => {
    fc.assert(
      fc.property(minor, minor, (a, b) => {
        expect(compareAmounts(print(a), print(b))).toBe(a < b ? -1 : a > b ? 1 : 0);
        expect(addAmounts(print(a), print(b))).toBe(print(a + b));
        expect(subtractAmounts(print(a), print(b))).toBe(print(a - b));
      }),
    );
  });
});

test.each(['100', '1.5', '1.000', '', '1e2', ' 1.00', '1.00 '])(
  'arithmetic refuses %j, and says what it takes',
  (text) => {
    expect(() => compareAmounts(text, '1.00')).toThrow(TypeError);
    expect(() => compareAmounts(text, '1.00')).toThrow('"100.05"');
    expect(() => subtractAmounts('1.00', text)).toThrow(TypeError);
  },
);
