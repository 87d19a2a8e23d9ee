import { beforeEach, describe, expect, test } from '@jest/globals';
import { HeldConnections } from './held-connections.js';
import { PaymentPoolExhaustedError } from './database.errors.js';

const LIMIT_MS = 30_000;
const OVERDUE_MS = 2_000;

describe('connections of a pool of ten', () => {
  let now: number;
  let held: HeldConnections;
  beforeEach(() => {
    now = 0;
    held = new HeldConnections(10, () => now);
  });

  const runner = (): object => ({});

  function take(count: number): object[] {
    return Array.from({ length: count }, () => {
      const taken = runner();
      held.check();
      held.take(taken, LIMIT_MS);
      return taken;
    });
  }

  test('are taken as they are needed while the database answers', () => {
    for (let time = 0; time < 100; time += 1) {
      const taken = take(10);
      now += OVERDUE_MS - 1;
      expect(() => held.check()).not.toThrow();
      taken.forEach((one) => held.giveBack(one));
    }
  });

  test('beyond half have a short limit', () => {
    expect(take(6).map((one) => held.limitOf(one))).toEqual([...Array<number>(5).fill(LIMIT_MS), OVERDUE_MS]);
  });

  test('are refused when statements that are overdue hold half, until one of these ends', () => {
    const [first] = take(5);
    now += OVERDUE_MS;
    expect(() => held.check()).toThrow(PaymentPoolExhaustedError);
    held.giveBack(first!);
    expect(() => held.check()).not.toThrow();
    take(4);
    expect(() => held.check()).not.toThrow();
  });

  test('that were given back have no limit of ours', () => {
    const [one] = take(1);
    held.giveBack(one!);
    expect(held.limitOf(one!)).toBeUndefined();
  });
});

test('a small pool has two for us at least', () => {
  const held = new HeldConnections(2, () => 0);
  held.take({}, LIMIT_MS);
  expect(() => held.check()).not.toThrow();
});
