import { expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { isUuid } from '../domain/uuid.js';
import { backoff } from './retry.js';
import { describeError } from './errors.js';
import { PaymentRandom, timeOrderedUuid } from './random.js';
import { Secret } from './secret.js';

test('ids of callbacks are random UUIDs in the order of time', () => {
  const random = new PaymentRandom();
  const times = [0, 1, 2 ** 32, Date.UTC(2026, 10, 21), Date.UTC(2026, 10, 21) + 1];
  const ids = times.map((time) => timeOrderedUuid(random, new Date(time)));
  expect(ids.toSorted()).toEqual(ids);
  expect(ids.every(isUuid)).toBe(true);
  expect(ids.at(-1)).toMatch(/^01a1fb67-1801-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(isUuid(timeOrderedUuid(random, new Date(8.64e15)))).toBe(true);
  expect(timeOrderedUuid(random, new Date(0))).not.toBe(timeOrderedUuid(random, new Date(0)));
});

test.each([
  [0, 0, 500],
  [0, 1, 1_000],
  [1, 1, 2_000],
  [3, 0, 4_000],
  [10, 1, 60_000],
  [5_000, 1, 60_000],
])('the backoff after %d failures, at the fraction %d, is %d ms', (failures, fraction, pause) => {
  expect(backoff(failures, 1_000, 60_000, fraction)).toBe(pause);
});

test('a secret shows its value only through reveal()', () => {
  const secret = new Secret('the-token-itself');
  const shown = [String(secret), JSON.stringify({ secret }), inspect({ secret }, { showHidden: true, depth: 10 })];
  expect(shown.join(' ')).not.toContain('the-token');
  expect(Object.values(secret)).toEqual([]);
  expect(secret.reveal()).toBe('the-token-itself');
});

test('describeError turns anything thrown into one bounded line', () => {
  expect(describeError(new TypeError('two\n lines'))).toBe('TypeError: two lines');
  expect(describeError('text')).toBe('text');
  expect(describeError(undefined)).toBe('undefined');
  expect(describeError('x'.repeat(1_000))).toHaveLength(500);
});
