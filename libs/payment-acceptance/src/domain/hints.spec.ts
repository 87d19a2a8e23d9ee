import { describe, expect, test } from '@jest/globals';
import type { Assertion, ComparablePayment, Hint } from './callback.js';
import { answerHints, firstAssertion } from './hints.js';

const LAG_MS = [3_000, 10_000, 30_000];

/** Seconds of a day, so that the order of events is easy to read. */
const at = (second: number) => new Date(Date.UTC(2026, 10, 21) + second * 1_000);

const hint = (claims: Hint['asserts'], second: number, more: Partial<Hint> = {}): Hint => ({
  id: `${claims ?? 'redirect'} ${second}`,
  asserts: claims,
  expectsSuccess: false,
  receivedAt: at(second),
  asks: 0,
  due: true,
  ...more,
});

const payment = (
  status: ComparablePayment['status'],
  second: number,
  confirmedSince: Partial<Record<Assertion, number>> = {},
): ComparablePayment => ({ status, knownAt: at(second), confirmedSince: { SUCCESS: 0, FAIL: 0, ...confirmedSince } });

/** The result for each hint, in order: its outcome, `again` with the pause, or `waits`. */
function answers(hints: readonly Hint[], payments: readonly ComparablePayment[]): string[] {
  const { consumed, postponed: again } = answerHints(hints, payments, LAG_MS);
  return hints.map(({ id }) => {
    const end = consumed.find((answer) => answer.id === id);
    if (end) return String(end.outcome);
    const later = again.find((answer) => answer.id === id);
    return later ? `again ${later.pauseMs}` : 'waits';
  });
}

describe('the claim of a callback', () => {
  test.each<[string, Hint[], ComparablePayment[], string[]]>([
    ['of nothing is answered by any list', [hint(null, 10)], [], ['null']],
    ['is confirmed by what becomes known after it', [hint('SUCCESS', 10)], [payment('SUCCESS', 11)], ['confirmed']],
    ['is confirmed by what was known just before', [hint('SUCCESS', 50)], [payment('SUCCESS', 7)], ['confirmed']],
    ['is not confirmed by what was known long before', [hint('SUCCESS', 51)], [payment('SUCCESS', 7)], ['again 3000']],
    ['is not confirmed by what runs', [hint('SUCCESS', 10)], [payment('PROCESS', 11)], ['again 3000']],
    ['is not confirmed by what failed', [hint('SUCCESS', 10)], [payment('FAIL', 11)], ['again 3000']],
    ['of a failure is not that of a success', [hint('FAIL', 10)], [payment('SUCCESS', 11)], ['again 3000']],
    [
      'is not confirmed by a payment whose claim came before',
      [hint('SUCCESS', 10)],
      [payment('SUCCESS', 8, { SUCCESS: 1 })],
      ['again 3000'],
    ],
    [
      'of success takes nothing from one of failure',
      [hint('SUCCESS', 10)],
      [payment('SUCCESS', 8, { FAIL: 1 })],
      ['confirmed'],
    ],
    [
      'is confirmed by a second payment beside the first with its claim',
      [hint('SUCCESS', 10)],
      [payment('SUCCESS', 5, { SUCCESS: 1 }), payment('SUCCESS', 9)],
      ['confirmed'],
    ],
    [
      'is one of two, where one payment is shown',
      [hint('SUCCESS', 10), hint('SUCCESS', 11)],
      [payment('SUCCESS', 12)],
      ['confirmed', 'again 3000'],
    ],
    [
      'leaves to a later one what only that can be about',
      [hint('SUCCESS', 10), hint('SUCCESS', 100)],
      [payment('SUCCESS', 11), payment('SUCCESS', 99)],
      ['confirmed', 'confirmed'],
    ],
    [
      'is answered before a later one, whatever the order they come in',
      [hint('SUCCESS', 11), hint('SUCCESS', 10)],
      [payment('SUCCESS', 12)],
      ['again 3000', 'confirmed'],
    ],
    [
      'is answered by the oldest payment, whatever the order they are listed in',
      [hint('SUCCESS', 10), hint('SUCCESS', 100)],
      [payment('SUCCESS', 99), payment('SUCCESS', 11)],
      ['confirmed', 'confirmed'],
    ],
  ])('the claim of a callback %s', (_name, hints, payments, expected) => {
    expect(answers(hints, payments)).toEqual(expected);
  });

  test('the claim of a Success redirect is asked about again after each pause, until a success is listed', () => {
    const redirect = (asks: number, shown: ComparablePayment[], due = true) =>
      answers([hint(null, 10, { expectsSuccess: true, asks, due })], shown)[0];
    const failed = payment('FAIL', 5);
    expect([0, 1, 2, 3].map((asks) => redirect(asks, [failed]))).toEqual([
      'again 3000',
      'again 10000',
      'again 30000',
      'null',
    ]);
    expect(redirect(1, [failed], false)).toBe('waits');
    expect(redirect(0, [failed, payment('SUCCESS', 1, { SUCCESS: 1 })])).toBe('null');
  });

  test('an unanswered claim is asked about again after each pause, then is confirmed or unconfirmed', () => {
    const asked = (asks: number, payments: ComparablePayment[]) =>
      answers([hint('SUCCESS', 1_000, { asks })], payments)[0];
    expect([0, 1, 2, 3].map((asks) => asked(asks, []))).toEqual([
      'again 3000',
      'again 10000',
      'again 30000',
      'unconfirmed',
    ]);
    expect([2, 3].map((asks) => asked(asks, [payment('SUCCESS', 5)]))).toEqual(['again 30000', 'confirmed']);
    expect(asked(3, [payment('FAIL', 5)])).toBe('unconfirmed');
    for (const status of ['SUCCESS', 'FAIL'] as const) {
      expect(answers([hint('FAIL', 1_000, { asks: 3 })], [payment(status, 5)])).toEqual(['confirmed']);
    }
  });

  test('a claim does not take the payment of an earlier one that is asked about for the last time', () => {
    const first = hint('SUCCESS', 10, { asks: 3 });
    expect(answers([first, hint('SUCCESS', 50)], [payment('SUCCESS', 53)])).toEqual(['confirmed', 'again 3000']);
  });

  test('a claim that is not due yet is answered if the list shows its payment, and otherwise waits', () => {
    const early = hint('SUCCESS', 10, { asks: 1, due: false });
    expect(answers([early], [payment('SUCCESS', 11)])).toEqual(['confirmed']);
    expect(answers([early], [])).toEqual(['waits']);
    expect(answerHints([early], [], LAG_MS)).toEqual({ consumed: [], postponed: [] });
  });
});

test('the first assertion of several callbacks is the earliest of those that assert anything, in any order', () => {
  expect(firstAssertion([hint(null, 5), hint('SUCCESS', 20), hint('FAIL', 10)])).toEqual(at(10));
  expect(firstAssertion([hint(null, 5)])).toBeNull();
});
