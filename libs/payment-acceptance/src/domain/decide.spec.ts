import { describe, expect, jest, test } from '@jest/globals';
import { kept, names, reasons, run } from '../../../../test/support/decisions.js';
import { lockedBill, reported } from '../../../../test/support/units.js';
import { decideUnlistable } from './decide.js';
import { defaultJudge } from './judge.js';
import type { LedgerPayment, PaymentStatus, ReportedPayment, Verdict } from './payment.js';

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
          billState: 'PAID',
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

  test.each<[string, Partial<ReportedPayment>]>([
    ['payment.review', {}],
    ['payment.failed', { status: 'FAIL' }],
  ])('%s states the currency of a payment that is not in the currency of its bill', (name, listed) => {
    const { events } = run({ listed: [reported({ ...listed, currency: 'USD' })] });
    expect(events.map(({ payload }) => payload)).toMatchObject([
      { name, amount: '100.05', paymentCurrency: 'USD', currency: 'RUB' },
    ]);
    expect(run({ listed: [fail] }).events[0]!.payload).not.toHaveProperty('paymentCurrency');
  });

  test('an event carries no custom that the shop did not set itself', () => {
    const { events } = run({ bill: lockedBill({ customGiven: false }), listed: [success] });
    expect(events[0]!.payload).toMatchObject({ custom: null });
  });

  test.each([success, fail, reported({ amount: '1.00' })])(
    'a payment of a redacted bill stores no personal data, and its event says "redacted": %#',
    (payment) => {
      const { events, payments, reviews } = run({ bill: lockedBill({ redacted: true }), listed: [payment] });
      expect(payments).toMatchObject([{ paymentId: 'p-1', fromCard: null }]);
      expect(events).toHaveLength(1);
      expect(events[0]!.payload).toMatchObject({ custom: null, fromCard: null, redacted: true });
      const kept = run({ listed: [payment] });
      expect([events[0]!.id, reviews]).toEqual([kept.events[0]!.id, kept.reviews]);
      expect(kept.events[0]!.payload).not.toHaveProperty('redacted');
    },
  );

  test('the judge sees the card even of a redacted bill, so that its verdict is the same', () => {
    const judge = jest.fn(defaultJudge);
    run({ bill: lockedBill({ redacted: true }), listed: [success], judge });
    expect(judge.mock.lastCall![1]).toMatchObject([{ fromCard: '411111******1111' }]);
  });

  test('a FAIL leaves the bill open', () => {
    const decision = run({ listed: [fail] });
    expect(decision).toMatchObject({ state: 'OPEN', firstPaymentId: null, reviews: [] });
    expect(decision.events).toMatchObject([{ name: 'payment.failed', payload: { orderPaid: false } }]);
  });

  test('the event of a FAIL comes before that of a SUCCESS, whatever the order of the list', () => {
    const listed = [reported({ paymentId: 'p-2' }), fail];
    expect(names(run({ listed }))).toEqual(['payment.failed', 'payment.succeeded']);
    expect(names(run({ listed: listed.reverse() }))).toEqual(['payment.failed', 'payment.succeeded']);
  });

  test.each<PaymentStatus>(['NEW', 'PROCESS'])('a payment in %s is stored and settles nothing', (status) => {
    const decision = run({ listed: [reported({ status })] });
    expect(decision).toMatchObject({ state: 'OPEN', payments: [{ status }], events: [], reviews: [] });
  });

  test('a status that is not in the specification opens a review and settles nothing', () => {
    const overpaid = reported({ status: 'UNKNOWN', statusText: 'OVERPAID' });
    const decision = run({ listed: [overpaid] });
    expect(decision).toMatchObject({ state: 'OPEN', firstPaymentId: null, payments: [{ verdict: 'review' }] });
    expect([names(decision), reasons(decision)]).toEqual([['payment.review'], ['unknown-status']]);
    expect(decision.reviews[0]!.detail).toMatchObject({ listed: { status: 'OVERPAID' } });
  });

  test('an underpayment opens a review, emits no success, and leaves the bill open', () => {
    const decision = run({ listed: [reported({ amount: '1.00' })] });
    expect(decision).toMatchObject({ state: 'OPEN', firstPaymentId: null, payments: [{ verdict: 'review' }] });
    expect([names(decision), reasons(decision)]).toEqual([['payment.review'], ['underpaid']]);
    expect(decision.reviews[0]!.detail).toEqual({
      billed: { amount: '100.05', currency: 'RUB' },
      listed: { status: 'SUCCESS', amount: '1.00', amountReceived: '98.05', currency: 'RUB', billId: 'b-1' },
    });
    expect(decision.events[0]!.payload).toMatchObject({ reviewId: decision.reviews[0]!.id, reason: 'underpaid' });
  });

  test('an overpayment succeeds, states the surplus, and opens a review', () => {
    const decision = run({ listed: [reported({ amount: '101.05' })] });
    expect([names(decision), reasons(decision)]).toEqual([['payment.succeeded', 'payment.review'], ['overpaid']]);
    expect(decision.events[0]!.payload).toMatchObject({ surplus: '1.00', amount: '101.05', billedAmount: '100.05' });
  });

  test('a second SUCCESS for an order succeeds, is not the first, and opens a review', () => {
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

  test('the event of a FAIL for a paid order says that the order is paid', () => {
    expect(run({ listed: [fail], firstPaymentId: 'p-0' }).events[0]!.payload).toMatchObject({ orderPaid: true });
  });

  test('a payment of a foreign bill settles nothing, and only its SUCCESS opens a review', () => {
    const foreign = run({ listed: [reported({ billId: 'b-other' })] });
    expect(foreign).toMatchObject({ state: 'OPEN', payments: [], firstPaymentId: null });
    expect([names(foreign), reasons(foreign)]).toEqual([['payment.review'], ['foreign-bill']]);
    const twice = run({ listed: [success, reported({ billId: 'b-other' }), reported({ billId: 'b-other' })] });
    expect([names(twice), reasons(twice)]).toEqual([['payment.succeeded', 'payment.review'], ['foreign-bill']]);
    expect(run({ listed: [reported({ billId: 'b-other', status: 'FAIL' })] })).toMatchObject({
      events: [],
      payments: [],
    });
  });

  test.each<[string, Partial<ReportedPayment>, string[], string[]]>([
    ['a SUCCESS as billed', {}, ['payment.review'], ['order-cancelled']],
    ['a SUCCESS of less', { amount: '1.00' }, ['payment.review'], ['underpaid']],
    ['a FAIL', { status: 'FAIL' }, ['payment.failed'], []],
    ['a PROCESS', { status: 'PROCESS' }, [], []],
  ])('for a cancelled order, %s has the events %j and the reviews %j', (_name, listed, events, reviews) => {
    const decision = run({ cancelled: true, listed: [reported(listed)] });
    expect(decision).toMatchObject({ state: 'OPEN', firstPaymentId: null, payments: [{ paymentId: 'p-1' }] });
    expect([names(decision), reasons(decision)]).toEqual([events, reviews]);
  });

  test('a payment that is listed with its steps to SUCCESS succeeds without a review', () => {
    const decision = run({ listed: [success, reported({ status: 'PROCESS' })] });
    expect([names(decision), reasons(decision)]).toEqual([['payment.succeeded'], []]);
  });

  test('a payment listed without a bill id belongs to the bill that was asked about', () => {
    expect(run({ listed: [reported({ billId: null })] })).toMatchObject({ state: 'PAID' });
  });
});

describe('the end of a bill', () => {
  const over = lockedBill().now.getTime();

  test('an unpaid bill expires at the end of its life, once', () => {
    expect(run({ endOfLife: over + 1 })).toMatchObject({ state: 'OPEN', events: [] });
    const expired = run({ endOfLife: over });
    expect(expired.state).toBe('EXPIRED');
    expect(expired.events).toMatchObject([
      { name: 'bill.expired', payload: { billState: 'EXPIRED', orderId: 'A-1', orderPaid: false } },
    ]);
    const ofAPaidOrder = run({ endOfLife: over, firstPaymentId: 'p-0' });
    expect(ofAPaidOrder.events).toMatchObject([{ name: 'bill.expired', payload: { orderPaid: true } }]);
    expect(run({ bill: lockedBill({ state: 'EXPIRED' }), endOfLife: over })).toMatchObject({
      state: 'EXPIRED',
      events: [],
    });
  });

  test('an unpaid bill does not expire while parts of its list are still to come', () => {
    expect(run({ isPartial: true, endOfLife: over, horizon: over })).toMatchObject({ state: 'OPEN', events: [] });
  });

  test.each<[PaymentStatus, string]>([
    ['NEW', 'OPEN'],
    ['PROCESS', 'OPEN'],
    ['UNKNOWN', 'OPEN'],
    ['FAIL', 'EXPIRED'],
    ['SUCCESS', 'PAID'],
  ])('at the end of its life, a bill with a %s payment is %s', (status, state) => {
    expect(run({ listed: [reported({ status })], endOfLife: over }).state).toBe(state);
  });

  test('a bill with a payment under review stays open until the horizon', () => {
    const listed = [reported({ amount: '1.00' })];
    expect(run({ listed, endOfLife: over }).state).toBe('OPEN');
    expect(run({ listed, endOfLife: over, horizon: over })).toMatchObject({
      state: 'EXPIRED',
      reviews: [{ reason: 'underpaid' }],
    });
  });

  test('a late payment still pays an expired bill', () => {
    const decision = run({ bill: lockedBill({ state: 'EXPIRED' }), listed: [success], endOfLife: 0 });
    expect(decision).toMatchObject({ state: 'PAID', firstPaymentId: 'p-1' });
  });

  test('a bill whose payments are not listed any more opens a review and keeps its state', () => {
    for (const state of ['OPEN', 'PAID', 'EXPIRED'] as const) {
      const decision = decideUnlistable(lockedBill({ state }), 'too-many-payments', '');
      expect(decision).toMatchObject({
        state,
        payments: [],
        reviews: [{ reason: 'too-many-payments', paymentId: null }],
      });
    }
  });

  test('a bill that cannot be listed opens no review right after one was closed', () => {
    expect(decideUnlistable(lockedBill(), 'too-many-payments', undefined)).toMatchObject({ reviews: [], events: [] });
  });

  test('unreadable entries of a list open a review, and the readable ones still settle', () => {
    const decision = run({ listed: [success], unreadable: { occasion: '2', isOpen: true } });
    expect(names(decision)).toEqual(['payment.succeeded', 'payment.review']);
    expect(decision.reviews).toMatchObject([{ reason: 'unreadable-payment', paymentId: null }]);
    expect(decision.reviews[0]!.key).toMatch(/:2$/);
    expect(reasons(run({ listed: [success] }))).toEqual([]);
  });

  test.each<[string, Partial<LedgerPayment>, Partial<ReportedPayment>]>([
    ['an unknown status', { status: 'UNKNOWN', statusText: 'HELD', verdict: 'review' }, { statusText: 'REFUNDED' }],
    [
      'another amount',
      { status: 'UNKNOWN', statusText: 'HELD', verdict: 'review' },
      { statusText: 'HELD', amount: '1.00' },
    ],
    ['FAIL', { status: 'FAIL', statusText: 'FAIL', verdict: 'failed' }, { statusText: 'OVERPAID' }],
  ])('an unknown status after %s opens a review of its own', (_what, before, now) => {
    const listed = [reported({ status: 'UNKNOWN', ...now })];
    const known = [{ ...kept(reported({})), ...before }];
    const decision = run({ known, listed });
    expect([decision.state, names(decision), reasons(decision)]).toEqual([
      'OPEN',
      ['payment.review'],
      ['unknown-status'],
    ]);
    // A status only advances, so a payment that has failed stays FAIL while it is under review.
    const status = before.status === 'FAIL' ? 'FAIL' : 'UNKNOWN';
    expect(decision.payments).toMatchObject([{ verdict: 'review', ...now, status }]);
    expect(decision.reviews[0]!.key).not.toBe(run({ listed: [reported({ status: 'UNKNOWN' })] }).reviews[0]!.key);
    expect(run({ known: decision.payments, listed })).toMatchObject({ payments: [], reviews: [] });
  });

  test('a FAIL after an unknown status that followed a FAIL has failed without another event', () => {
    const failed = kept(reported({ status: 'FAIL' }));
    const [row] = run({ known: [failed], listed: [reported({ status: 'UNKNOWN', statusText: 'HELD' })] }).payments;
    const decision = run({ known: [row!], listed: [reported({ status: 'FAIL' })] });
    expect(decision).toMatchObject({ payments: [{ status: 'FAIL', verdict: 'failed' }], events: [], reviews: [] });
  });

  test.each([
    [true, 'OPEN'],
    [false, 'EXPIRED'],
  ])('an old bill with a payment whose review is open (%s) is %s', (isUnderReview, state) => {
    const row = { ...kept(reported({ amount: '1.00' })), verdict: 'review' as const, isUnderReview };
    expect(run({ known: [row], listed: [reported({ amount: '1.00' })], endOfLife: 0 }).state).toBe(state);
  });

  test.each([
    ['2', true, 'OPEN'],
    [undefined, true, 'OPEN'],
    [undefined, false, 'EXPIRED'],
  ])('an old bill with unreadable entries whose review (%s) is open (%s) is %s', (occasion, isOpen, state) => {
    expect(run({ listed: [], unreadable: { occasion, isOpen }, endOfLife: 0 }).state).toBe(state);
  });

  test('an unknown status that follows FAIL counts where the judge says that it succeeded', () => {
    const judge = () => [{ kind: 'succeeded' } as const];
    const listed = [reported({ status: 'UNKNOWN', statusText: 'OVERPAID' })];
    const decision = run({ known: [kept(reported({ status: 'FAIL' }))], listed, judge });
    expect([decision.state, names(decision), reasons(decision)]).toEqual(['PAID', ['payment.succeeded'], []]);
    expect(decision.payments).toMatchObject([{ statusText: 'OVERPAID', verdict: 'succeeded' }]);
    const again = run({ known: decision.payments, firstPaymentId: decision.firstPaymentId, listed, judge });
    expect(again).toMatchObject({ payments: [], events: [], reviews: [] });
  });

  test.each<[PaymentStatus, Verdict['kind'], string[], Verdict['kind'][]]>([
    ['UNKNOWN', 'failed', ['payment.failed'], ['failed']],
    ['UNKNOWN', 'pending', [], ['pending']],
    ['FAIL', 'failed', [], []],
    ['FAIL', 'pending', [], []],
  ])('an unknown status after %s that the judge calls %s has the events %j', (status, kind, events, verdicts) => {
    const judge = () => [{ kind } as Verdict];
    const known = [{ ...kept(reported({ status })), verdict: 'failed' as const }];
    const decision = run({ known, listed: [reported({ status: 'UNKNOWN', statusText: 'HELD' })], judge });
    expect([names(decision), reasons(decision)]).toEqual([events, []]);
    expect(decision.payments.map(({ verdict }) => verdict)).toEqual(verdicts);
  });

  test('contradicting entries of a list are the same contradiction in any order', () => {
    const [other, third] = [reported({ amount: '50.00' }), reported({ amount: '60.00' })];
    const known = [{ ...kept(success) }];
    const bill = lockedBill({ state: 'PAID' });
    const first = run({ bill, known, listed: [success, other, third], firstPaymentId: 'p-1' });
    expect(reasons(first)).toEqual(['payment-changed', 'payment-changed']);
    const again = run({ bill, known: first.payments, listed: [third, success, other], firstPaymentId: 'p-1' });
    expect(again).toMatchObject({ payments: [], reviews: [] });
  });
});
