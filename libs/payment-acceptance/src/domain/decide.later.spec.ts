import { describe, expect, test } from '@jest/globals';
import { kept, names, reasons, run } from '../../../../test/support/decisions.js';
import { lockedBill, reported } from '../../../../test/support/units.js';
import { judgePayment } from './judge.js';
import type { Judge, LedgerPayment, PaymentStatus, ReportedPayment, Verdict } from './payment.js';

const [success, fail] = [reported(), reported({ status: 'FAIL', statusText: 'FAIL' })];

describe('a later list', () => {
  test.each<[PaymentStatus, PaymentStatus]>([
    ['NEW', 'NEW'],
    ['PROCESS', 'NEW'],
    ['FAIL', 'NEW'],
    ['FAIL', 'PROCESS'],
    ['FAIL', 'UNKNOWN'],
    ['UNKNOWN', 'NEW'],
    ['UNKNOWN', 'PROCESS'],
    ['FAIL', 'FAIL'],
    ['SUCCESS', 'SUCCESS'],
  ])('a payment in %s stays as it is when the service lists %s, without an event', (before, now) => {
    const decision = run({ known: [kept(reported({ status: before }))], listed: [reported({ status: now })] });
    expect(decision).toMatchObject({ payments: [], events: [], reviews: [] });
  });

  test.each<[PaymentStatus, PaymentStatus, string[]]>([
    ['NEW', 'PROCESS', []],
    ['NEW', 'UNKNOWN', ['payment.review']],
    ['PROCESS', 'UNKNOWN', ['payment.review']],
    ['UNKNOWN', 'FAIL', ['payment.failed']],
    ['NEW', 'FAIL', ['payment.failed']],
    ['PROCESS', 'SUCCESS', ['payment.succeeded']],
    ['UNKNOWN', 'SUCCESS', ['payment.succeeded']],
    ['FAIL', 'SUCCESS', ['payment.succeeded']],
  ])('a payment in %s advances to %s', (before, now, events) => {
    const decision = run({ known: [kept(reported({ status: before }))], listed: [reported({ status: now })] });
    expect(names(decision)).toEqual(events);
    expect(decision.payments).toMatchObject([{ paymentId: 'p-1', status: now }]);
  });

  describe('a status that only a custom judge knows', () => {
    const unknown = reported({ status: 'UNKNOWN', statusText: 'OVERPAID' });
    const judging =
      (verdict: Verdict): Judge =>
      (bill, payments) =>
        payments.map((payment) => (payment.statusText === 'OVERPAID' ? verdict : judgePayment(bill, payment)));
    const listing = (verdict: Verdict, before: LedgerPayment | null, listed = unknown) =>
      run({ judge: judging(verdict), known: before ? [before] : [], listed: [listed] });

    test.each<[Verdict, string[]]>([
      [{ kind: 'succeeded', surplus: '1.00' }, ['payment.succeeded']],
      [{ kind: 'failed' }, ['payment.failed']],
      [{ kind: 'review', reason: 'partial' }, ['payment.review']],
      [{ kind: 'pending' }, []],
    ])('the custom verdict %j takes effect once, whatever came before', (verdict, expected) => {
      const pending = kept(reported({ status: 'PROCESS' }));
      for (const before of [null, pending, { ...kept(unknown), verdict: 'pending' } as const]) {
        expect(names(listing(verdict, before))).toEqual(expected);
      }
      const [row] = listing(verdict, null).payments;
      expect(listing(verdict, row!)).toMatchObject({ payments: [], events: [], reviews: [] });
    });

    test('a success by a custom judge is not repeated by SUCCESS, and a later FAIL opens a review', () => {
      const [row] = listing({ kind: 'succeeded' }, null).payments;
      const again = listing({ kind: 'succeeded' }, row!, success);
      expect([names(again), again.payments]).toEqual([
        [],
        [expect.objectContaining({ status: 'SUCCESS', verdict: 'succeeded' })],
      ]);
      expect(reasons(listing({ kind: 'succeeded' }, row!, fail))).toEqual(['payment-changed']);
    });

    test.each<Verdict>([{ kind: 'failed' }, { kind: 'review', reason: 'partial' }, { kind: 'pending' }])(
      'a payment with the custom verdict %j succeeds once it is SUCCESS',
      (verdict) => {
        const [row] = listing(verdict, null).payments;
        expect(names(listing(verdict, row!, success))).toEqual(['payment.succeeded']);
      },
    );

    test.each<[Verdict, string]>([
      [{ kind: 'failed' }, 'EXPIRED'],
      [{ kind: 'pending' }, 'OPEN'],
      [{ kind: 'review', reason: 'partial' }, 'OPEN'],
    ])('a bill whose payment has the custom verdict %j is %s at the end of its life', (verdict, state) => {
      const end = { endOfLife: lockedBill().now.getTime(), horizon: Infinity };
      const first = run({ judge: judging(verdict), listed: [unknown], ...end });
      expect(first.state).toBe(state);
      expect(reasons(first)).toEqual(
        verdict.kind === 'pending' ? ['unknown-status'] : verdict.kind === 'review' ? ['partial'] : [],
      );
    });
  });

  test.each<[string, Partial<ReportedPayment>]>([
    ['FAIL', { status: 'FAIL' }],
    ['NEW', { status: 'NEW' }],
    ['another amount', { amount: '100.04' }],
    ['no amount', { amount: null }],
    ['another currency', { currency: 'USD' }],
  ])('a SUCCESS that becomes %s opens a review and changes nothing', (_name, change) => {
    const bill = lockedBill({ state: 'PAID' });
    const decision = run({ bill, known: [kept(success)], listed: [reported(change)], firstPaymentId: 'p-1' });
    expect(decision).toMatchObject({ state: 'PAID', firstPaymentId: null });
    expect(decision.payments).toEqual([
      { ...kept(success), contradiction: expect.any(String) as unknown, statusText: reported(change).statusText },
    ]);
    expect([names(decision), reasons(decision)]).toEqual([['payment.review'], ['payment-changed']]);
  });

  test('a worsened SUCCESS opens one review, and another only after a dismissal and a recovery', () => {
    let known = { ...kept(success), closedChanges: 0 };
    const keys = (listed: ReportedPayment[], closedChanges: number): string[] => {
      const { payments, reviews, events } = run({ known: [{ ...known, closedChanges }], listed });
      expect(events.map(({ key }) => key)).toEqual(reviews.map(({ key }) => `payment.review:main:${key}`));
      known = { ...known, ...payments[0] };
      return reviews.map(({ key }) => key);
    };
    const less = { ...success, amount: '1.00' };
    for (const worse of [[fail], [less], [{ ...success, currency: 'USD' }], [fail, success], [less, success]]) {
      known = { ...kept(success), closedChanges: 0 };
      const first = keys(worse, 0);
      expect(first).toHaveLength(1);
      expect([keys(worse, 0), keys(worse, 1), keys([success], 1)]).toEqual([[], [], []]);
      // The first review is still open, so the same review results again.
      expect([keys(worse, 0), keys([success], 0)]).toEqual([first, []]);
      const second = keys(worse, 1);
      expect(second).toHaveLength(1);
      expect(second).not.toEqual(first);
      expect(keys(worse, 2)).toEqual([]);
    }
  });

  test('each change of a SUCCESS has a review key of its own, and the same change has the same key', () => {
    const review = (change: Partial<ReportedPayment>) =>
      run({ known: [kept(success)], listed: [reported(change)] }).reviews[0]!.key;
    expect(review({ status: 'FAIL' })).toBe(review({ status: 'FAIL' }));
    expect(review({ status: 'FAIL' })).not.toBe(review({ amount: '1.00' }));
  });

  test('a payment of another bill that is listed here opens a review and stays with its bill', () => {
    const elsewhere = kept(reported({ status: 'NEW' }), '00000000-0000-4000-8000-00000000000f');
    const decision = run({ known: [elsewhere], listed: [success] });
    expect(decision).toMatchObject({ state: 'OPEN', payments: [], firstPaymentId: null });
    expect(reasons(decision)).toEqual(['payment-moved']);
    const larger = run({ known: [elsewhere], listed: [{ ...success, amount: '200.00' }] });
    expect(larger.reviews[0]!.key).not.toBe(decision.reviews[0]!.key);
  });

  test('a payment listed by several bills opens a review for each bill that it does not belong to', () => {
    const elsewhere = kept(success, '00000000-0000-4000-8000-00000000000f');
    const bills = ['a', 'b', 'c', 'd'].map((each) =>
      lockedBill({ intentId: `00000000-0000-4000-8000-00000000000${each}` }),
    );
    const moved = bills.flatMap((bill) => run({ bill, known: [elsewhere], listed: [success] }).reviews);
    const foreign = bills.flatMap((bill) => run({ bill, listed: [{ ...success, billId: 'b-other' }] }).reviews);
    expect([...moved, ...foreign].map(({ reason }) => reason)).toEqual([
      ...Array.from({ length: 4 }, () => 'payment-moved'),
      ...Array.from({ length: 4 }, () => 'foreign-bill'),
    ]);
    expect(new Set([...moved, ...foreign].map(({ key }) => key)).size).toBe(8);
    expect(new Set([...moved, ...foreign].map(({ id }) => id)).size).toBe(8);
  });

  test('a payment that moves to another bill before any money came opens no review, which could be dismissed too early', () => {
    const elsewhere = kept(reported({ status: 'NEW' }), '00000000-0000-4000-8000-00000000000f');
    expect(run({ known: [elsewhere], listed: [reported({ status: 'PROCESS' })] })).toMatchObject({
      payments: [],
      events: [],
      reviews: [],
    });
  });

  test('a payment missing from the list changes nothing', () => {
    const bill = lockedBill({ state: 'PAID' });
    expect(run({ bill, known: [kept(success)], listed: [] })).toMatchObject({ state: 'PAID', events: [], reviews: [] });
    const running = [kept(reported({ status: 'PROCESS' }))];
    expect(run({ known: running, listed: [], endOfLife: 0 })).toMatchObject({ state: 'OPEN', events: [] });
  });
});

describe('a SUCCESS that is listed otherwise, and then as SUCCESS again', () => {
  const waiting = { ...kept(success), verdict: 'review' } as const;

  test('a SUCCESS that is listed otherwise is kept with what was listed last', () => {
    const decision = run({ known: [waiting], listed: [fail] });
    expect(decision.payments).toEqual([
      { ...waiting, statusText: 'FAIL', contradiction: expect.any(String) as unknown },
    ]);
    expect(reasons(decision)).toEqual(['payment-changed']);
    expect(run({ known: [waiting], listed: [{ ...fail, billId: null }] }).payments).toHaveLength(1);
    expect(run({ known: [waiting], listed: [] }).payments).toEqual([]);
    expect(run({ known: [waiting], listed: [success] })).toMatchObject({ payments: [], reviews: [] });
    const both = run({ known: [waiting], listed: [fail, success] });
    expect(both.payments).toMatchObject([{ statusText: 'SUCCESS' }]);
    expect(both.reviews).toMatchObject([{ detail: { listed: { status: 'FAIL' } } }]);
    expect(run({ known: [waiting], listed: [{ ...fail, billId: 'b-other' }] }).payments).toEqual([]);
    expect(run({ known: [kept(success, 'b-2')], listed: [fail] }).payments).toEqual([]);
  });

  test('a SUCCESS listed again opens a review if the payment awaits an operator, and none if it already counts', () => {
    const again = run({ known: [{ ...waiting, statusText: 'FAIL' }], listed: [success] });
    expect(again.payments).toEqual([waiting]);
    expect(again.reviews).toMatchObject([{ reason: 'payment-changed', detail: { listed: { status: 'SUCCESS' } } }]);
    const counted = run({ known: [{ ...kept(success), statusText: 'FAIL' }], listed: [success] });
    expect([counted.payments, counted.reviews]).toEqual([[kept(success)], []]);
  });
});
