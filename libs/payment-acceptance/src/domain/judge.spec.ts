import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { anyReported } from '../../../../test/support/arbitraries.js';
import { SEED } from '../../../../test/support/seed.js';
import { lockedBill, reported } from '../../../../test/support/units.js';
import type { ReportedPayment, Verdict } from './payment.js';
import { compareAmounts } from './money.js';
import { defaultJudge, judgePayment } from './judge.js';

type Row = [string, Partial<ReportedPayment>, boolean, Verdict];

describe('the default judge, on a bill over 100.05 RUB', () => {
  const review = (reason: string): Verdict => ({ kind: 'review', reason });
  test.each<Row>([
    ['NEW', { status: 'NEW' }, false, { kind: 'pending' }],
    ['PROCESS', { status: 'PROCESS' }, false, { kind: 'pending' }],
    ['an unknown status', { status: 'UNKNOWN' }, false, review('unknown-status')],
    ['FAIL', { status: 'FAIL' }, false, { kind: 'failed' }],
    ['FAIL of another amount', { status: 'FAIL', amount: null }, false, { kind: 'failed' }],
    ['SUCCESS as billed', {}, false, { kind: 'succeeded' }],
    ['SUCCESS as billed, the payer paying the commission', {}, true, { kind: 'succeeded' }],
    ['another currency', { currency: 'USD' }, false, review('wrong-currency')],
    ['no currency', { currency: null }, false, review('wrong-currency')],
    ['no amount', { amount: null }, false, review('amount-missing')],
    ['zero', { amount: '0.00' }, false, review('amount-not-positive')],
    ['less than zero', { amount: '-100.05' }, false, review('amount-not-positive')],
    ['one kopeck less', { amount: '100.04' }, false, review('underpaid')],
    ['one kopeck less, the payer paying the commission', { amount: '100.04' }, true, review('underpaid')],
    ['1.00 for an order of 100.05', { amount: '1.00' }, false, review('underpaid')],
    ['more', { amount: '100.06' }, false, { kind: 'succeeded', surplus: '0.01', review: 'overpaid' }],
    ['more, the payer paying the commission', { amount: '105.05' }, true, { kind: 'succeeded', surplus: '5.00' }],
    ['as billed, less received', { amountReceived: '0.01' }, false, { kind: 'succeeded' }],
    ['too little, enough received', { amount: '1.00', amountReceived: '100.05' }, false, review('underpaid')],
  ])('the default judge gives a verdict on %s', (_name, payment, payerPaysCommission, verdict) => {
    expect(judgePayment(lockedBill({ payerPaysCommission }), reported(payment))).toEqual(verdict);
  });

  test('the default judge does not add up two half payments', () => {
    const halves = [reported({ amount: '50.00' }), reported({ paymentId: 'p-2', amount: '50.05' })];
    expect(defaultJudge(lockedBill(), halves)).toEqual([review('underpaid'), review('underpaid')]);
  });
});

test(`the default judge gives one usable verdict for each payment of any list (TEST_SEED=${SEED})`, () => {
  fc.assert(
    fc.property(fc.array(anyReported, { maxLength: 6 }), fc.boolean(), (payments, payerPaysCommission) => {
      const bill = lockedBill({ payerPaysCommission });
      const verdicts = defaultJudge(bill, payments);
      expect(verdicts).toHaveLength(payments.length);
      verdicts.forEach((verdict, index) => {
        const { status, amount, currency } = payments[index]!;
        expect(verdict.kind === 'failed').toBe(status === 'FAIL');
        expect(verdict.kind === 'pending').toBe(['NEW', 'PROCESS'].includes(status));
        if (status === 'UNKNOWN') expect(verdict.kind).toBe('review');
        if (verdict.kind === 'succeeded') {
          expect(currency).toBe(bill.currency);
          expect(compareAmounts(amount!, bill.amount)).toBeGreaterThanOrEqual(0);
        }
      });
    }),
  );
});
