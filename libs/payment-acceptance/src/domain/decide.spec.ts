import { describe, expect, test } from '@jest/globals';
import { kept, names, reasons, run } from '../../../../test/support/decisions.js';
import { lockedBill, reported } from '../../../../test/support/units.js';
import { decideUnlistable } from './decide.js';
import type { PaymentStatus, ReportedPayment } from './payment.js';

const [success, fail] = [reported(), reported({ status: 'FAIL' })];

describe('one list', () => {
  test('a SUCCESS as billed pays the bill and the order, in one event', () => {
    const decision = run({ listed: [success] });
    expect(decision).toMatchObject({ state: 'PAID', firstPaymentId: 'p-1', reviews: [] });
    expect(decision.payments).toMatchObject([{ paymentId: 'p-1', status: 'SUCCESS', verdict: 'succeeded' }]);
    expect(decision.events).toMatchObject([
      {
        name: 'payment.succeeded',
        key: 'payment.succeeded:main:p-1',
        payload: {
          name: 'payment.succeeded',
          version: 1,
          shop: 'main',
          orderId: 'A-1',
          attempt: 1,
          billId: 'b-1',
          bill: 'PAID',
          paymentId: 'p-1',
          amount: '100.05',
          amountReceived: '98.05',
          billedAmount: '100.05',
          currency: 'RUB',
          custom: 'cart 7',
          fromCard: '411111******1111',
          firstForOrder: true,
          occurredAt: '2026-11-21T12:00:30.000Z',
        },
      },
    ]);
    expect(decision.events[0]!.payload).not.toHaveProperty('surplus');
    expect(run({ listed: [success] }).events[0]!.id).toBe(decision.events[0]!.id);
  });

  test('what the shop did not give as custom is not told as its own', () => {
    const { events } = run({ bill: lockedBill({ customGiven: false }), listed: [success] });
    expect(events[0]!.payload).toMatchObject({ custom: null });
  });

  test('a FAIL leaves the bill open', () => {
    const decision = run({ listed: [fail] });
    expect(decision).toMatchObject({ state: 'OPEN', firstPaymentId: null, reviews: [] });
    expect(decision.events).toMatchObject([{ name: 'payment.failed', payload: { orderPaid: false } }]);
  });

  test('FAIL comes before SUCCESS, whatever the order of the list', () => {
    const listed = [reported({ paymentId: 'p-2' }), fail];
    expect(names(run({ listed }))).toEqual(['payment.failed', 'payment.succeeded']);
    expect(names(run({ listed: listed.reverse() }))).toEqual(['payment.failed', 'payment.succeeded']);
  });

  test.each<PaymentStatus>(['NEW', 'PROCESS', 'UNKNOWN'])('%s is kept and settles nothing', (status) => {
    const decision = run({ listed: [reported({ status })] });
    expect(decision).toMatchObject({ state: 'OPEN', payments: [{ status }], events: [], reviews: [] });
  });

  test('an underpayment is a review, no event of success, and the bill stays open', () => {
    const decision = run({ listed: [reported({ amount: '1.00' })] });
    expect(decision).toMatchObject({ state: 'OPEN', firstPaymentId: null, payments: [{ verdict: 'review' }] });
    expect([names(decision), reasons(decision)]).toEqual([['payment.review'], ['underpaid']]);
    expect(decision.reviews[0]!.detail).toEqual({
      billed: { amount: '100.05', currency: 'RUB' },
      listed: { status: 'SUCCESS', amount: '1.00', amountReceived: '98.05', currency: 'RUB', billId: 'b-1' },
    });
    expect(decision.events[0]!.payload).toMatchObject({ reviewId: decision.reviews[0]!.id, reason: 'underpaid' });
  });

  test('an overpayment succeeds, states the surplus, and is a review', () => {
    const decision = run({ listed: [reported({ amount: '101.05' })] });
    expect([names(decision), reasons(decision)]).toEqual([['payment.succeeded', 'payment.review'], ['overpaid']]);
    expect(decision.events[0]!.payload).toMatchObject({ surplus: '1.00', amount: '101.05', billedAmount: '100.05' });
  });

  test('a second SUCCESS of the order succeeds, is not the first, and is a review', () => {
    const both = run({ listed: [success, reported({ paymentId: 'p-2' })] });
    expect(names(both)).toEqual(['payment.succeeded', 'payment.succeeded', 'payment.review']);
    expect(both.events.slice(0, 2).map(({ payload }) => (payload as { firstForOrder: boolean }).firstForOrder)).toEqual(
      [true, false],
    );
    expect([both.firstPaymentId, reasons(both)]).toEqual(['p-1', ['second-payment']]);
    const later = run({ listed: [success], firstPaymentId: 'p-of-another-attempt' });
    expect([later.firstPaymentId, later.state, reasons(later)]).toEqual([null, 'PAID', ['second-payment']]);
    expect(later.events[0]!.payload).toMatchObject({ firstForOrder: false });
  });

  test('a FAIL of a paid order says so', () => {
    expect(run({ listed: [fail], firstPaymentId: 'p-0' }).events[0]!.payload).toMatchObject({ orderPaid: true });
  });

  test('a payment of a foreign bill settles nothing; only its SUCCESS is a review', () => {
    const foreign = run({ listed: [reported({ billId: 'b-other' })] });
    expect(foreign).toMatchObject({ state: 'OPEN', payments: [], firstPaymentId: null });
    expect([names(foreign), reasons(foreign)]).toEqual([['payment.review'], ['foreign-bill']]);
    expect(run({ listed: [reported({ billId: 'b-other', status: 'FAIL' })] })).toMatchObject({
      events: [],
      payments: [],
    });
  });

  test('a payment without bill_id is taken as one of the bill that was asked for', () => {
    expect(run({ listed: [reported({ billId: null })] })).toMatchObject({ state: 'PAID' });
  });
});

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

describe('the end of a bill', () => {
  const over = lockedBill().now.getTime();

  test('an unpaid bill expires at the end of its life, once', () => {
    expect(run({ endOfLife: over + 1 })).toMatchObject({ state: 'OPEN', events: [] });
    const expired = run({ endOfLife: over });
    expect(expired.state).toBe('EXPIRED');
    expect(expired.events).toMatchObject([{ name: 'bill.expired', payload: { bill: 'EXPIRED', orderId: 'A-1' } }]);
    expect(run({ bill: lockedBill({ state: 'EXPIRED' }), endOfLife: over })).toMatchObject({
      state: 'EXPIRED',
      events: [],
    });
  });

  test.each<[PaymentStatus, string]>([
    ['NEW', 'OPEN'],
    ['PROCESS', 'OPEN'],
    ['UNKNOWN', 'OPEN'],
    ['FAIL', 'EXPIRED'],
    ['SUCCESS', 'PAID'],
  ])('with a %s payment it is then %s', (status, state) => {
    expect(run({ listed: [reported({ status })], endOfLife: over }).state).toBe(state);
  });

  test('a late payment still pays an expired bill', () => {
    const decision = run({ bill: lockedBill({ state: 'EXPIRED' }), listed: [success], endOfLife: 0 });
    expect(decision).toMatchObject({ state: 'PAID', firstPaymentId: 'p-1' });
  });

  test('a bill whose payments are not listed any more is a review, and stays as it is', () => {
    for (const state of ['OPEN', 'PAID', 'EXPIRED'] as const) {
      const decision = decideUnlistable(lockedBill({ state }), 'too-many-payments', '');
      expect(decision).toMatchObject({
        state,
        payments: [],
        reviews: [{ reason: 'too-many-payments', paymentId: null }],
      });
    }
  });

  test('one whose review a person has just closed opens none', () => {
    expect(decideUnlistable(lockedBill(), 'too-many-payments', undefined)).toMatchObject({ reviews: [], events: [] });
  });

  test('entries that cannot be read are a review beside what can be', () => {
    const decision = run({ listed: [success], unreadable: '2' });
    expect(names(decision)).toEqual(['payment.succeeded', 'payment.review']);
    expect(decision.reviews).toMatchObject([{ reason: 'unreadable-payment', paymentId: null }]);
    expect(decision.reviews[0]!.key).toMatch(/:2$/);
    expect(reasons(run({ listed: [success] }))).toEqual([]);
  });
});

describe('a SUCCESS that is listed otherwise, and as SUCCESS again', () => {
  const [success, fail] = [reported(), reported({ status: 'FAIL', statusText: 'FAIL' })];
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
