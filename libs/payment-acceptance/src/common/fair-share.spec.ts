import { describe, expect, test } from '@jest/globals';
import { FairShare } from './fair-share.js';

describe('a fair share', () => {
  test('a fair share is half of the places, or all of them for a single member', () => {
    const share = new FairShare(5);
    expect([share.remainingFor('a', 1), share.remainingFor('a', 2), share.remainingFor('a', 9)]).toEqual([5, 2, 2]);
    expect(new FairShare(1).remainingFor('a', 2)).toBe(1);
  });

  test('a fair share is no more than the places that are left', () => {
    const share = new FairShare(4);
    for (const member of ['a', 'b', 'c']) share.acquire(member);
    expect([share.taken, share.remainingFor('a', 3), share.remainingFor('d', 4)]).toEqual([3, 1, 1]);
    share.release('c');
    expect([share.taken, share.remainingFor('a', 3), share.remainingFor('d', 4)]).toEqual([2, 1, 2]);
  });

  test('a fair share is reduced by what the member holds, and never below zero', () => {
    const share = new FairShare(4);
    for (let count = 0; count < 3; count += 1) share.acquire('a');
    expect([share.remainingFor('a', 1), share.remainingFor('a', 2), share.remainingFor('b', 2)]).toEqual([1, 0, 1]);
    share.release('a');
    share.release('a');
    expect(share.remainingFor('a', 2)).toBe(1);
    share.release('a');
    share.release('a');
    expect(share.remainingFor('a', 2)).toBe(2);
  });
});
