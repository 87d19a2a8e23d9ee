import { describe, expect, test } from '@jest/globals';
import { FairShare } from './fair-share.js';

describe('a fair share', () => {
  test('is half of the places, and all of them for one that is alone', () => {
    const share = new FairShare(5);
    expect([share.remainingFor('a', 1), share.remainingFor('a', 2), share.remainingFor('a', 9)]).toEqual([5, 2, 2]);
    expect(new FairShare(1).remainingFor('a', 2)).toBe(1);
  });

  test('is no more than what is left of all', () => {
    const share = new FairShare(4);
    for (const member of ['a', 'b', 'c']) share.acquire(member);
    expect([share.taken, share.remainingFor('a', 3), share.remainingFor('d', 4)]).toEqual([3, 1, 1]);
    share.release('c');
    expect([share.taken, share.remainingFor('a', 3), share.remainingFor('d', 4)]).toEqual([2, 1, 2]);
  });

  test('is less by what is held, and never below nothing', () => {
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
