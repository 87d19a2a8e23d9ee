import { describe, expect, test } from '@jest/globals';
import { lockedBill, resolved } from '../../../../test/support/units.js';
import type { BillState, LockedBill } from './bill.js';
import { endOfLife, nextCheck } from './schedule.js';

const { schedule } = resolved({}, { schedule: { openMs: [60_000, 120_000, 300_000, 900_000] } });
const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 86_400_000];
const opened = lockedBill().openedAt.getTime();
const at = (ms: number) => new Date(opened + ms);
/** Milliseconds from opening to the next look. */
const next = (bill: LockedBill, state: BillState, scheduled: boolean, options: typeof schedule, fraction = 0) => {
  const date = nextCheck(bill, state, scheduled, options, fraction);
  return date && date.getTime() - opened;
};

describe('an open bill', () => {
  test.each([
    [0, MINUTE, 3 * MINUTE],
    [1, 3 * MINUTE, 8 * MINUTE],
    [2, 8 * MINUTE, 23 * MINUTE],
    [3, 23 * MINUTE, 38 * MINUTE],
    [300, 2 * DAY, 2 * DAY + 15 * MINUTE],
  ])('after %d checks, at %d ms, is looked at next at %d ms', (checks, now, then) => {
    expect(next(lockedBill({ checks, now: at(now) }), 'OPEN', true, schedule)).toBe(then);
  });

  test('is looked at exactly at the end of its life, and goes on while a payment runs', () => {
    expect(endOfLife(lockedBill(), schedule)).toBe(opened + 3 * DAY);
    const soon = lockedBill({ checks: 300, now: at(3 * DAY - MINUTE) });
    expect(next(soon, 'OPEN', true, schedule)).toBe(3 * DAY);
    const over = lockedBill({ checks: 301, now: at(3 * DAY) });
    expect(next(over, 'OPEN', true, schedule)).toBe(4 * DAY);
  });

  test('a hint neither pushes its schedule back nor uses it up', () => {
    const bill = lockedBill({ checks: 2, nextCheckAt: at(HOUR), now: at(MINUTE) });
    expect(next(bill, 'OPEN', false, schedule)).toBe(HOUR);
  });
});

describe('a paid bill', () => {
  test('is looked at every 6 hours, for 7 days from its payment on', () => {
    const now = at(DAY);
    expect(next(lockedBill({ now }), 'PAID', false, schedule)).toBe(DAY + 6 * HOUR);
    const paid = (time: number) => lockedBill({ state: 'PAID', paidAt: at(0), now: at(time) });
    expect(next(paid(7 * DAY - 6 * HOUR), 'PAID', true, schedule)).toBe(7 * DAY);
    expect(next(paid(7 * DAY - 6 * HOUR + 1), 'PAID', true, schedule)).toBeNull();
    expect(next(paid(7 * DAY), 'PAID', true, schedule)).toBeNull();
  });
});

describe('an expired bill', () => {
  test('is looked at daily for 30 days from its end on', () => {
    expect(next(lockedBill({ now: at(3 * DAY) }), 'EXPIRED', true, schedule)).toBe(4 * DAY);
    const expired = (time: number) => lockedBill({ state: 'EXPIRED', endedAt: at(3 * DAY), now: at(time) });
    expect(next(expired(32 * DAY), 'EXPIRED', true, schedule)).toBe(33 * DAY);
    expect(next(expired(33 * DAY), 'EXPIRED', true, schedule)).toBeNull();
  });

  test('that is paid late is followed as a paid one', () => {
    const bill = lockedBill({ state: 'EXPIRED', endedAt: at(3 * DAY), now: at(20 * DAY) });
    expect(next(bill, 'PAID', true, schedule)).toBe(20 * DAY + 6 * HOUR);
  });
});
