import { expect, test } from '@jest/globals';
import { RequestedShopNames } from './requested-shop-names.js';

test('a name stays absent for its time', () => {
  const names = new RequestedShopNames(5_000);
  names.noteAbsent('us', 100_000);
  expect([100_000, 104_999, 105_000].map((now) => names.isAbsent('us', now))).toEqual([true, true, false]);
  names.markFound('us');
  expect(names.isAbsent('us', 100_000)).toBe(false);
});

test('no more than a thousand are kept, the latest', () => {
  const names = new RequestedShopNames(5_000);
  for (let number = 0; number < 3_000; number += 1) names.noteAbsent(`made-up-${number}`, 0);
  const kept = Array.from({ length: 3_000 }, (_, number) => number).filter((n) => names.isAbsent(`made-up-${n}`, 1));
  expect([kept.length, kept[0]]).toEqual([1_000, 2_000]);
});

test('twenty a second may be asked about in vain; those that are found do not count', () => {
  const names = new RequestedShopNames(5_000);
  const asked = (now: number): number => Array.from({ length: 50 }, () => names.mayAsk(now)).filter(Boolean).length;
  expect([asked(0), asked(999), asked(1_000)]).toEqual([20, 0, 20]);
  for (let number = 0; number < 30; number += 1) names.markFound('there');
  expect(asked(1_001)).toBe(20);
});
