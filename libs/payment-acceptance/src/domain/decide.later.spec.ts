import { describe, expect, test } from '@jest/globals';
import { kept, names, reasons, run } from '../../../../test/support/decisions.js';
import { lockedBill, reported } from '../../../../test/support/units.js';
import type { PaymentStatus, ReportedPayment } from './payment.js';

const [success, fail] = [reported(), reported({ status: 'FAIL', statusText: 'FAIL' })];

describe('a list after others', () => {
  test.each<[PaymentStatus, PaymentStatus]>([
    ['NEW', 'NEW'],
    ['PROCESS', 'NEW'],
    ['FAIL', 'NEW'],
    ['FAIL', 'PROCESS'],
    ['FAIL', 'UNKNOWN'],
    ['FAIL', 'FAIL'],
    ['SUCCESS', 'SUCCESS'],
  ])('%s stays when %s is listed, and nobody is told', (before, now) => {
    const decision = run({ known: [kept(reported({ status: before }))], listed: [reported({ status: now })] });
    expect(decision).toMatchObject({ payments: [], events: [], reviews: [] });
  });

  test.each<[PaymentStatus, PaymentStatus, string[]]>([
    ['NEW', 'PROCESS', []],
    ['UNKNOWN', 'NEW', []],
    ['NEW', 'FAIL', ['payment.failed']],
    ['PROCESS', 'SUCCESS', ['payment.succeeded']],
    ['UNKNOWN', 'SUCCESS', ['payment.succeeded']],
    ['FAIL', 'SUCCESS', ['payment.succeeded']],
  ])('%s advances to %s', (before, now, events) => {
    const decision = run({ known: [kept(reported({ status: before }))], listed: [reported({ status: now })] });
    expect(names(decision)).toEqual(events);
    expect(decision.payments).toMatchObject([{ paymentId: 'p-1', status: now }]);
  });

  test.each<[string, Partial<ReportedPayment>]>([
    ['FAIL', { status: 'FAIL' }],
    ['NEW', { status: 'NEW' }],
    ['another amount', { amount: '100.04' }],
    ['no amount', { amount: null }],
    ['another currency', { currency: 'USD' }],
  ])('a SUCCESS that becomes %s is a review and changes nothing', (_name, change) => {
    const bill = lockedBill({ state: 'PAID' });
    const decision = run({ bill, known: [kept(success)], listed: [reported(change)], firstPaymentId: 'p-1' });
    expect(decision).toMatchObject({ state: 'PAID', payments: [], firstPaymentId: null });
    expect([names(decision), reasons(decision)]).toEqual([['payment.review'], ['payment-changed']]);
  });

  test('each change is a review of its own; the same one again is the same', () => {
    const review = (change: Partial<ReportedPayment>) =>
      run({ known: [kept(success)], listed: [reported(change)] }).reviews[0]!.key;
    expect(review({ status: 'FAIL' })).toBe(review({ status: 'FAIL' }));
    expect(review({ status: 'FAIL' })).not.toBe(review({ amount: '1.00' }));
  });

  test('a payment that moves here from another bill is a review and stays there', () => {
    const elsewhere = kept(reported({ status: 'NEW' }), '00000000-0000-4000-8000-00000000000f');
    const decision = run({ known: [elsewhere], listed: [success] });
    expect(decision).toMatchObject({ state: 'OPEN', payments: [], firstPaymentId: null });
    expect(reasons(decision)).toEqual(['payment-moved']);
    const larger = run({ known: [elsewhere], listed: [{ ...success, amount: '200.00' }] });
    expect(larger.reviews[0]!.key).not.toBe(decision.reviews[0]!.key);
  });

  test("one that moves before any money came is nobody's business yet: a dismissed review would hide the money", () => {
    const elsewhere = kept(reported({ status: 'NEW' }), '00000000-0000-4000-8000-00000000000f');
    expect(run({ known: [elsewhere], listed: [reported({ status: 'PROCESS' })] })).toMatchObject({
      payments: [],
      events: [],
      reviews: [],
    });
  });

  test('absence from the list proves nothing', () => {
    const bill = lockedBill({ state: 'PAID' });
    expect(run({ bill, known: [kept(success)], listed: [] })).toMatchObject({ state: 'PAID', events: [], reviews: [] });
    const running = [kept(reported({ status: 'PROCESS' }))];
    expect(run({ known: running, listed: [], endOfLife: 0 })).toMatchObject({ state: 'OPEN', events: [] });
  });
});

describe('a SUCCESS that is listed otherwise, and as SUCCESS again', () => {
  const waiting = { ...kept(success), verdict: 'review' } as const;

  test('is kept with what was listed last', () => {
    const decision = run({ known: [waiting], listed: [fail] });
    expect(decision.payments).toEqual([{ ...waiting, statusText: 'FAIL' }]);
    expect(reasons(decision)).toEqual(['payment-changed']);
    expect(run({ known: [waiting], listed: [{ ...fail, billId: null }] }).payments).toHaveLength(1);
    expect(run({ known: [waiting], listed: [] }).payments).toEqual([]);
    expect(run({ known: [waiting], listed: [success] })).toMatchObject({ payments: [], reviews: [] });
    expect(run({ known: [waiting], listed: [fail, success] }).payments).toEqual([]);
    expect(run({ known: [waiting], listed: [{ ...fail, billId: 'b-other' }] }).payments).toEqual([]);
    expect(run({ known: [kept(success, 'b-2')], listed: [fail] }).payments).toEqual([]);
  });

  test('is a review again where it waits for a person, and none where it counts already', () => {
    const again = run({ known: [{ ...waiting, statusText: 'FAIL' }], listed: [success] });
    expect(again.payments).toEqual([waiting]);
    expect(again.reviews).toMatchObject([{ reason: 'payment-changed', detail: { listed: { status: 'SUCCESS' } } }]);
    const counted = run({ known: [{ ...kept(success), statusText: 'FAIL' }], listed: [success] });
    expect([counted.payments, counted.reviews]).toEqual([[kept(success)], []]);
  });
});
