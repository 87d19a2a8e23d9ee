import { beforeEach, describe, expect, test } from '@jest/globals';
import { RefusedBills } from './refused-shops.js';

describe('a bill that the service refuses for the sake of its shop', () => {
  let bills: RefusedBills;
  beforeEach(() => {
    bills = new RefusedBills();
  });

  test('says nothing of the shop, however often; three different ones do', () => {
    for (let time = 0; time < 5; time += 1) expect(bills.refused('main', 'a')).toBe('undecided');
    expect(bills.refused('main', 'b')).toBe('undecided');
    expect(bills.refused('eu', 'c')).toBe('undecided');
    expect(bills.refused('main', 'c')).toBe('shop');
    expect(bills.refused('main', 'd')).toBe('shop');
  });

  test('has trouble of its own where another bill of the shop is answered after it', () => {
    bills.refused('main', 'a');
    bills.answered('main', 'b');
    expect(bills.refused('main', 'a')).toBe('bill');
    expect(['b', 'c', 'd'].map((id) => bills.refused('main', id))).toEqual(['undecided', 'undecided', 'shop']);
    expect(bills.refused('main', 'a')).toBe('bill');
  });

  test('is a bill like any other once it is answered itself', () => {
    bills.refused('main', 'a');
    bills.answered('main', 'b');
    bills.answered('main', 'a');
    expect(bills.refused('main', 'a')).toBe('undecided');
  });
});
