import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { anyReported } from '../../../../test/support/arbitraries.js';
import { names, run } from '../../../../test/support/decisions.js';
import { SEED } from '../../../../test/support/seed.js';
import { lockedBill, reported } from '../../../../test/support/units.js';
import type { LockedBill } from './bill.js';
import { judgeOnce, splitIntoParts, JudgeContractError } from './decide.js';
import type { PaymentId } from './ids.js';
import type { Judge, LedgerPayment, PaymentStatus, ReportedPayment, Verdict } from './payment.js';

const [success, fail] = [reported(), reported({ status: 'FAIL' })];

describe('the contract of a judge', () => {
  const judges: [string, Judge, ReportedPayment][] = [
    ['too few verdicts', () => [], success],
    ['too many', () => [{ kind: 'succeeded' }, { kind: 'succeeded' }], success],
    ['a success that was not', () => [{ kind: 'succeeded' }], fail],
    ['a success of a running payment', () => [{ kind: 'succeeded' }], reported({ status: 'PROCESS' })],
    ['a failure that was none', () => [{ kind: 'failed' }], success],
    ['a failure of a running payment', () => [{ kind: 'failed' }], reported({ status: 'NEW' })],
    ['waiting for ever', () => [{ kind: 'pending' }], success],
    ['a failure left open', () => [{ kind: 'pending' }], fail],
    ['a success without an amount', () => [{ kind: 'succeeded' }], reported({ amount: null })],
    ['a reason that is no text', () => [{ kind: 'review', reason: 7n as never }], success],
    ['no reason', () => [{ kind: 'review', reason: '' }], success],
    ['a reason that no database takes', () => [{ kind: 'review', reason: 'a\0b' }], success],
    ['half a character', () => [{ kind: 'succeeded', review: '\ud800' }], success],
    ['a reason too long for a key', () => [{ kind: 'succeeded', review: 'x'.repeat(101) }], success],
    ['a surplus that is no amount', () => [{ kind: 'succeeded', surplus: 5n as never }], success],
    ['a surplus that is null', () => [{ kind: 'succeeded', surplus: null as never }], success],
    ['a surplus with a third decimal', () => [{ kind: 'succeeded', surplus: '1.005' }], success],
    ['no verdict', () => [undefined as never], success],
    ['no list', () => 'succeeded' as never, success],
    ['nothing', () => undefined as never, success],
  ];
  test.each(judges)('a judge that breaks its contract settles nothing: %s', (_name, judge, payment) => {
    expect(() => run({ judge, listed: [payment] })).toThrow(JudgeContractError);
    expect(() => run({ judge, listed: [payment] })).toThrow(payment.paymentId);
  });

  test('the error of a judge that breaks its contract names the verdicts that the status allows', () => {
    expect(() => run({ judge: () => [], listed: [success] })).toThrow('for this status: succeeded or review.');
  });

  test('a judge that returns a promise settles nothing, and the error says so, whether it rejects or not', () => {
    for (const promise of [Promise.resolve([]), Promise.reject(new Error('late'))]) {
      const judge: Judge = () => promise as never;
      expect(() => run({ judge, listed: [success] })).toThrow(JudgeContractError);
      expect(() => run({ judge, listed: [success] })).toThrow('returned a promise');
    }
  });
});

describe('a list that is settled in parts', () => {
  const payment = (paymentId: string, status: PaymentStatus) => reported({ paymentId, status });
  const [a, b, c] = [payment('p-1', 'NEW'), payment('p-2', 'FAIL'), payment('p-3', 'SUCCESS')];

  test('of a list in parts, the judge is shown the whole list once, and each part gets the verdicts on its payments', () => {
    const verdicts: Verdict[] = [{ kind: 'pending' }, { kind: 'failed' }, { kind: 'succeeded' }];
    const judge = jest.fn<Judge>(() => verdicts);
    const judgeOfPart = judgeOnce(judge, [a, b, c]);
    expect(judgeOfPart(lockedBill(), [b])).toEqual([{ kind: 'failed' }]);
    expect(judgeOfPart(lockedBill(), [c, a])).toEqual([{ kind: 'succeeded' }, { kind: 'pending' }]);
    expect(judge.mock.calls).toEqual([[lockedBill(), [a, b, c]]]);
  });

  test('of a list in parts, no part gets a verdict from a judge that returns too few or too many', () => {
    for (const count of [1, 3]) {
      const judgeOfPart = judgeOnce(() => Array.from({ length: count }, () => ({ kind: 'pending' })), [a, b]);
      expect([judgeOfPart(lockedBill(), [a]), judgeOfPart(lockedBill(), [b])]).toEqual([[], []]);
    }
  });

  test('a list is split into parts only if it is longer than one', () => {
    expect(splitIntoParts([b, a], 2)).toEqual({ early: [], last: [a, b] });
    expect(splitIntoParts([b, a], 1)).toEqual({ early: [[a], [b]], last: [] });
  });

  test('the last part of a long list has what may be money and what is listed twice, and the others are full', () => {
    const [unknown, d, e] = [payment('p-4', 'UNKNOWN'), payment('p-5', 'FAIL'), payment('p-6', 'PROCESS')];
    const [before, after] = [payment('p-7', 'NEW'), payment('p-7', 'FAIL')];
    expect(splitIntoParts([c, after, b, unknown, a, before, e, d], 2)).toEqual({
      early: [
        [a, e],
        [b, d],
      ],
      last: [before, unknown, after, c],
    });
  });
});

test('fields of a verdict that do not belong to its kind are ignored', () => {
  const judge: Judge = () => [{ kind: 'failed', surplus: 5n } as never];
  expect(names(run({ judge, listed: [fail] }))).toEqual(['payment.failed']);
});

test(`any sequence of lists keeps the invariants of the ledger (TEST_SEED=${SEED})`, () => {
  fc.assert(
    fc.property(fc.array(fc.array(anyReported, { maxLength: 5 }), { maxLength: 6 }), (lists) => {
      const rank = { NEW: 0, PROCESS: 1, UNKNOWN: 2, FAIL: 3, SUCCESS: 4 };
      let bill: LockedBill = lockedBill();
      let firstPaymentId: string | null = null;
      const ledger = new Map<string, LedgerPayment>();
      const told = new Set<string>();
      for (const listed of lists) {
        const decision = run({ bill, firstPaymentId, known: [...ledger.values()], listed });
        const own = listed.filter(({ billId }) => billId !== 'b-other');
        for (const row of decision.payments) {
          const before = ledger.get(row.paymentId);
          if (before?.status === 'SUCCESS') {
            const { statusText, contradiction } = row;
            expect(row).toEqual({ ...before, statusText, contradiction });
          } else if (before?.status === 'UNKNOWN' && row.status === 'UNKNOWN') expect(row).not.toEqual(before);
          else if (before?.status === 'FAIL' && row.status === 'FAIL')
            expect([before.verdict, row.verdict]).toContain('review');
          else if (before) expect(rank[row.status]).toBeGreaterThan(rank[before.status]);
          expect(own.map(({ paymentId }) => paymentId)).toContain(row.paymentId);
          ledger.set(row.paymentId, row);
        }
        for (const { name, key } of decision.events.filter(({ name }) => name !== 'payment.review')) {
          expect(told).not.toContain(key);
          told.add(key);
          const status = name === 'payment.succeeded' ? 'SUCCESS' : 'FAIL';
          expect(own.some((payment) => key.endsWith(`:${payment.paymentId}`) && payment.status === status)).toBe(true);
        }
        if (bill.state === 'PAID') expect(decision.state).toBe('PAID');
        if (firstPaymentId !== null) expect(decision.firstPaymentId).toBeNull();
        firstPaymentId ??= decision.firstPaymentId;
        expect(decision.state === 'PAID').toBe(firstPaymentId !== null);
        bill = { ...bill, state: decision.state };
        const again = run({ bill, firstPaymentId, known: [...ledger.values()], listed });
        expect(again.payments).toEqual([]);
        expect(names(again).filter((name) => name !== 'payment.review')).toEqual([]);
      }
    }),
  );
});

const anyOfTen = fc
  .tuple(anyReported, fc.integer({ min: 0, max: 9 }))
  .map(([payment, number]): ReportedPayment => ({ ...payment, paymentId: `p-${number}` }));

test(`a list settled in parts ends like one settled at once (TEST_SEED=${SEED})`, () => {
  fc.assert(
    fc.property(fc.array(fc.array(anyOfTen, { maxLength: 8 }), { maxLength: 4 }), (lists) => {
      interface Ended {
        readonly rows: Map<string, LedgerPayment>;
        readonly told: Set<string>;
        state: LockedBill['state'];
        firstPaymentId: PaymentId | null;
      }
      const empty = (): Ended => ({ rows: new Map(), told: new Set(), state: 'OPEN', firstPaymentId: null });
      const [atOnce, inPieces] = [empty(), empty()];
      const settle = (ended: Ended, listed: readonly ReportedPayment[], goesOn: boolean): void => {
        const ids = new Set(listed.map(({ paymentId }) => paymentId));
        const known = [...ended.rows.values()].filter(({ paymentId }) => !goesOn || ids.has(paymentId));
        const { state, firstPaymentId } = ended;
        const decision = run({ bill: { ...lockedBill(), state }, firstPaymentId, known, listed, isPartial: goesOn });
        for (const row of decision.payments) ended.rows.set(row.paymentId, row);
        for (const { id } of decision.events) ended.told.add(id);
        if (!goesOn) ended.state = decision.state;
        ended.firstPaymentId ??= decision.firstPaymentId;
      };
      for (const listed of lists) {
        settle(atOnce, listed, false);
        const { early, last } = splitIntoParts(listed, 2);
        expect([...early, last].flat()).toHaveLength(listed.length);
        for (const part of early) settle(inPieces, part, true);
        settle(inPieces, last, false);
        expect(inPieces).toEqual(atOnce);
      }
    }),
    { seed: SEED, numRuns: 500 },
  );
});
