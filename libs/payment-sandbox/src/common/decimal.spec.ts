import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { divideHalfUp, formatMinor, minorOf, parseAmount } from './decimal.js';

describe('decimal', () => {
  test.each([
    ['100', 10_000n],
    ['100.05', 10_005n],
    [' 100.050 ', 10_005n],
    ['.5', 50n],
    ['5.', 500n],
    ['+1', 100n],
    ['-0.01', -1n],
    ['1e+06', 100_000_000n],
    ['1.0005E+02', 10_005n],
    ['10005e-2', 10_005n],
    ['0e999', 0n],
    ['0.30000000000000004', 30n],
    ['100.04999999999999716', 10_005n],
    ['12345678.299999999', 1_234_567_830n],
    ['12345678.050000003', 1_234_567_805n],
  ])('parseAmount of the sandbox reads %j', (text, minor) => {
    expect(parseAmount(text)).toBe(minor);
  });

  test.each([
    '',
    '.',
    'e5',
    '1,5',
    '1.005',
    '0.3000004',
    '1e-3',
    '0x1',
    '1 0',
    'NaN',
    'Infinity',
    '1e1000',
    '--1',
    '1'.repeat(65),
  ])('parseAmount of the sandbox refuses %j', (text) => {
    expect(parseAmount(text)).toBeUndefined();
  });

  test('a formatted amount is read back as the same amount', () => {
    fc.assert(fc.property(fc.bigInt(-(10n ** 12n), 10n ** 12n), (minor) => minorOf(formatMinor(minor)) === minor));
    expect([formatMinor(0n), formatMinor(5n), formatMinor(-105n)]).toEqual(['0.00', '0.05', '-1.05']);
    expect(() => minorOf('x')).toThrow(TypeError);
  });

  test('divideHalfUp rounds halves up', () => {
    expect([divideHalfUp(1n, 2n), divideHalfUp(5n, 4n), divideHalfUp(7n, 4n)]).toEqual([1n, 1n, 2n]);
  });
});
