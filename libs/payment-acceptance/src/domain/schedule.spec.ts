import { describe, expect, test } from '@jest/globals';
import { claimedBill, lockedBill, resolved } from '../../../../test/support/units.js';
import type { BillState, LockedBill } from './bill.js';
import type { ClaimedBill } from './claim.js';
import { scheduleAfterFailure, endOfLife, horizon, nextCheck } from './schedule.js';

const { schedule } = resolved({}, { schedule: { openMs: [60_000, 120_000, 300_000, 900_000] } });
const [SECOND, MINUTE, HOUR, DAY] = [1_000, 60_000, 3_600_000, 86_400_000];
const opened = lockedBill().openedAt.getTime();
const at = (ms: number) => new Date(opened + ms);
/** Milliseconds from opening to the next check. */
const next = (bill: LockedBill, state: BillState, scheduled: boolean, options: typeof schedule, fraction = 0) => {
  const date = nextCheck(bill, state, scheduled, options, fraction);
  return date && date.getTime() - opened;
};

describe('the review of an unfinished payment', () => {
  const ends = { paidAt: at(HOUR), endedAt: at(2 * HOUR) };
  const of = (state: BillState, options: typeof schedule) => horizon(lockedBill({ ...ends, state }), options) - opened;

  test('an unfinished payment is reviewed two checks before the last one of its bill', () => {
    expect((['OPEN', 'PAID', 'EXPIRED'] as const).map((state) => of(state, schedule))).toEqual([
      31 * DAY,
      HOUR + 7 * DAY - 2 * schedule.paidEveryMs,
      2 * HOUR + 28 * DAY,
    ]);
  });

  test('an unfinished payment is reviewed half-way if its bill has few checks, and never at once', () => {
    const brief = { ...schedule, paidForMs: 2 * HOUR, paidEveryMs: 6 * HOUR, expiredForMs: DAY };
    expect((['OPEN', 'PAID', 'EXPIRED'] as const).map((state) => of(state, brief))).toEqual([
      3 * DAY + DAY / 2,
      2 * HOUR,
      2 * HOUR + DAY / 2,
    ]);
  });
});

describe('an open bill', () => {
  test.each([
    [0, MINUTE, 3 * MINUTE],
    [1, 3 * MINUTE, 8 * MINUTE],
    [2, 8 * MINUTE, 23 * MINUTE],
    [3, 23 * MINUTE, 38 * MINUTE],
    [300, 2 * DAY, 2 * DAY + 15 * MINUTE],
  ])('an open bill after %d checks, at %d ms, is checked next at %d ms', (checks, now, then) => {
    expect(next(lockedBill({ checks, now: at(now) }), 'OPEN', true, schedule)).toBe(then);
  });

  test('an open bill is checked exactly at the end of its life, and further while a payment runs', () => {
    expect(endOfLife(lockedBill(), schedule)).toBe(opened + 3 * DAY);
    const soon = lockedBill({ checks: 300, now: at(3 * DAY - MINUTE) });
    expect(next(soon, 'OPEN', true, schedule)).toBe(3 * DAY);
    const over = (time: number) => next(lockedBill({ checks: 301, now: at(time) }), 'OPEN', true, schedule);
    expect([3 * DAY, 32 * DAY, 32 * DAY + 1].map(over)).toEqual([4 * DAY, 33 * DAY, null]);
  });

  test.each([
    [0, 2 * MINUTE],
    [0.5, 2 * MINUTE + 6 * SECOND],
    [1, 2 * MINUTE + 12 * SECOND],
  ])('the pause of an open bill is extended by 10 %% at most: at the fraction %d, %d ms', (fraction, pause) => {
    expect(next(lockedBill({ now: at(0) }), 'OPEN', true, schedule, fraction)).toBe(pause);
  });

  test('a hint neither delays the schedule of an open bill nor uses it up', () => {
    const bill = lockedBill({ checks: 2, nextCheckAt: at(HOUR), now: at(MINUTE) });
    expect(next(bill, 'OPEN', false, schedule)).toBe(HOUR);
  });
});

describe('a paid bill', () => {
  test('a paid bill is checked every 6 hours for 7 days after its payment', () => {
    const now = at(DAY);
    expect(next(lockedBill({ now }), 'PAID', false, schedule)).toBe(DAY + 6 * HOUR);
    const paid = (time: number) => lockedBill({ state: 'PAID', paidAt: at(0), now: at(time) });
    expect(next(paid(7 * DAY - 6 * HOUR), 'PAID', true, schedule)).toBe(7 * DAY);
    expect(next(paid(7 * DAY - 6 * HOUR + 1), 'PAID', true, schedule)).toBeNull();
    expect(next(paid(7 * DAY), 'PAID', true, schedule)).toBeNull();
  });
});

describe('an expired bill', () => {
  test('an expired bill is checked daily for 30 days after its end', () => {
    expect(next(lockedBill({ now: at(3 * DAY) }), 'EXPIRED', true, schedule)).toBe(4 * DAY);
    const expired = (time: number) => lockedBill({ state: 'EXPIRED', endedAt: at(3 * DAY), now: at(time) });
    expect(next(expired(32 * DAY), 'EXPIRED', true, schedule)).toBe(33 * DAY);
    expect(next(expired(33 * DAY), 'EXPIRED', true, schedule)).toBeNull();
  });

  test('an expired bill that a running payment kept open is checked from its actual end on', () => {
    expect(next(lockedBill({ now: at(40 * DAY) }), 'EXPIRED', true, schedule)).toBe(41 * DAY);
    const bill = lockedBill({ state: 'EXPIRED', endedAt: at(40 * DAY), now: at(69 * DAY) });
    expect(next(bill, 'EXPIRED', true, schedule)).toBe(70 * DAY);
  });

  test('a bill is checked once more near the end of its schedule, however short that is', () => {
    const brief = { ...schedule, expiredForMs: DAY, paidForMs: 6 * HOUR };
    const running = lockedBill({ now: at(3 * DAY) });
    expect(next(running, 'OPEN', true, brief, 1)).toBe(4 * DAY);
    expect(next(lockedBill({ now: at(4 * DAY) }), 'OPEN', true, brief, 1)).toBeNull();
    expect(next(running, 'EXPIRED', true, brief, 1)).toBe(4 * DAY);
    const paid = lockedBill({ state: 'PAID', paidAt: at(0), now: at(0) });
    expect(next(paid, 'PAID', true, brief, 1)).toBe(6 * HOUR);
  });

  test('a bill that is checked at its horizon, not before it, is not checked once more at the end of a short schedule', () => {
    const brief = { ...schedule, paidForMs: 6 * HOUR };
    const paid = (time: number) => lockedBill({ state: 'PAID', paidAt: at(0), now: at(time) });
    expect(horizon(paid(0), brief)).toBe(opened + 3 * HOUR);
    expect([3 * HOUR - 1, 3 * HOUR].map((time) => next(paid(time), 'PAID', true, brief))).toEqual([6 * HOUR, null]);
  });

  test('an expired bill that is paid late is checked like a paid one', () => {
    const bill = lockedBill({ state: 'EXPIRED', endedAt: at(3 * DAY), now: at(20 * DAY) });
    expect(next(bill, 'PAID', true, schedule)).toBe(20 * DAY + 6 * HOUR);
  });
});

describe('a failed check', () => {
  const PAUSE = 5 * SECOND;
  const young = claimedBill({ openedAt: at(0), now: at(MINUTE) });
  const paid = claimedBill({ state: 'PAID', openedAt: at(-DAY), paidAt: at(0) });
  const expired = claimedBill({ state: 'EXPIRED', openedAt: at(-3 * DAY), endedAt: at(0) });
  const after = (claim: ClaimedBill, now: number, billRefused = false, pauseMs = PAUSE) => {
    const { nextCheckAt, ...rest } = scheduleAfterFailure({ ...claim, now: at(now) }, pauseMs, billRefused, schedule);
    return { next: nextCheckAt && nextCheckAt.getTime() - opened, ...rest };
  };
  const goesOn = { review: false, giveUp: false };

  test.each([
    ['young', young, MINUTE, MINUTE + PAUSE],
    ['just over', young, 4 * DAY - 1, 4 * DAY - 1 + PAUSE],
    ['paid', paid, HOUR, 7 * HOUR],
    ['expired', expired, HOUR, DAY + HOUR],
    ['paid, with nothing that says when', { ...paid, paidAt: null }, HOUR, 7 * HOUR],
  ])(
    'a failed check of a bill that is %s is repeated, no more often than one that succeeds',
    (_name, claim, now, next) => {
      expect(after(claim, now)).toEqual({ next, ...goesOn });
    },
  );

  test('a failed check is repeated after its own pause if that is longer', () => {
    expect(after(paid, 0, false, 7 * HOUR).next).toBe(7 * HOUR);
  });

  test('a failed check opens a review once the bill has been over for one pause of an expired bill', () => {
    expect(after(young, 4 * DAY)).toEqual({ next: 5 * DAY, review: true, giveUp: false });
    expect(after(paid, 30 * DAY).review).toBe(false);
  });

  test('a failed check that only a hint asked for leaves the schedule as it is', () => {
    expect(after({ ...young, scheduled: false }, MINUTE)).toEqual({ next: undefined, ...goesOn });
  });

  test.each([
    ['open', young, 33 * DAY, DAY],
    ['paid', paid, 7 * DAY, 6 * HOUR],
    ['expired', expired, 30 * DAY, DAY],
    ['paid, with nothing that says when', { ...paid, paidAt: null }, 6 * DAY, 6 * HOUR],
    ['expired, with nothing that says when', { ...expired, endedAt: null }, 27 * DAY, DAY],
  ])(
    'checks of a bill that is %s are given up at the end of its schedule only if the service refuses the bill',
    (_name, claim, until, every) => {
      const refused = (now: number, failedChecks = 7) => after({ ...claim, failedChecks }, now, true);
      expect(refused(until - every).next).toBe(until);
      expect(refused(until - every + 1)).toMatchObject({ next: null, giveUp: false });
      expect(refused(until).giveUp).toBe(false);
      expect(refused(until + 1)).toMatchObject({ next: null, giveUp: true, review: claim.state === 'OPEN' });
      expect(refused(until + 1, 6).giveUp).toBe(false);
      expect(after({ ...claim, failedChecks: 7 }, until + 1)).toMatchObject({ next: until + 1 + every, giveUp: false });
    },
  );
});
