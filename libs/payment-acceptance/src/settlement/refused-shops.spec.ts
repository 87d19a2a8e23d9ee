import { beforeEach, describe, expect, test } from '@jest/globals';
import { RefusedBills } from './refused-shops.js';

describe('a bill that the service refuses for the sake of its shop', () => {
  let bills: RefusedBills;
  beforeEach(() => {
    bills = new RefusedBills();
  });

  test('refusals of one bill say nothing about its shop, but refusals of three bills do', () => {
    for (let time = 0; time < 5; time += 1) expect(bills.recordRefusal('main', 'a')).toBe('undecided');
    expect(bills.recordRefusal('main', 'b')).toBe('undecided');
    expect(bills.recordRefusal('eu', 'c')).toBe('undecided');
    expect(bills.recordRefusal('main', 'c')).toBe('shop');
    expect(bills.recordRefusal('main', 'd')).toBe('shop');
  });

  test('a refused bill has trouble of its own if another bill of the shop is answered after it', () => {
    bills.recordRefusal('main', 'a');
    bills.recordAnswer('main', 'b');
    expect(bills.recordRefusal('main', 'a')).toBe('bill');
    expect(['b', 'c', 'd'].map((id) => bills.recordRefusal('main', id))).toEqual(['undecided', 'undecided', 'shop']);
    expect(bills.recordRefusal('main', 'a')).toBe('bill');
  });

  test('a refused bill counts like any other once it is answered itself', () => {
    bills.recordRefusal('main', 'a');
    bills.recordAnswer('main', 'b');
    bills.recordAnswer('main', 'a');
    expect(bills.recordRefusal('main', 'a')).toBe('undecided');
  });
});
