import { describe, expect, test } from '@jest/globals';
import { kept, names, reasons, run } from '../../../../test/support/decisions.js';
import { lockedBill, reported } from '../../../../test/support/units.js';
import { decideAccepted } from './decide.js';
import type { LedgerPayment, PaymentStatus, ReportedPayment } from './payment.js';

describe('a payment that an operator had accepted before the service said SUCCESS', () => {
  const later = (before: PaymentStatus, listed: Partial<ReportedPayment>) =>
    run({
      bill: lockedBill({ state: 'PAID' }),
      firstPaymentId: 'p-1',
      known: [{ ...kept(reported({ status: before })), verdict: 'succeeded' }],
      listed: [reported(listed)],
    });

  test.each<[PaymentStatus, PaymentStatus]>([
    ['PROCESS', 'PROCESS'],
    ['PROCESS', 'NEW'],
    ['FAIL', 'PROCESS'],
    ['FAIL', 'UNKNOWN'],
    ['UNKNOWN', 'UNKNOWN'],
  ])('an accepted payment in %s that is listed as %s stays as it is', (before, status) => {
    expect(later(before, { status, statusText: status })).toMatchObject({
      state: 'PAID',
      payments: [],
      events: [],
      reviews: [],
    });
  });

  test.each<[PaymentStatus, PaymentStatus, Partial<ReportedPayment>]>([
    ['NEW', 'PROCESS', {}],
    ['NEW', 'PROCESS', { amount: '1.00' }],
    ['PROCESS', 'SUCCESS', {}],
    ['FAIL', 'SUCCESS', {}],
  ])(
    'an accepted payment in %s that becomes %s, with the change %j, advances without an event',
    (before, status, change) => {
      const decision = later(before, { status, ...change });
      expect(decision.payments).toMatchObject([{ status, verdict: 'succeeded', intentId: lockedBill().intentId }]);
      expect(decision).toMatchObject({ events: [], reviews: [], firstPaymentId: null });
    },
  );

  test.each<[string, Partial<ReportedPayment>]>([
    ['fails', { status: 'FAIL' }],
    ['is of another amount', { amount: '1.00' }],
    ['is of a larger amount', { amount: '500.05' }],
  ])('an accepted payment that %s opens a review and still counts', (_name, change) => {
    const decision = later('PROCESS', change);
    expect(decision.payments).toMatchObject([{ ...change, verdict: 'succeeded' }]);
    expect([names(decision), reasons(decision)]).toEqual([['payment.review'], ['payment-changed']]);
  });

  test('an accepted payment that becomes SUCCESS with an amount too small all along opens a review and still counts', () => {
    const less = { amount: '1.00' };
    const known: LedgerPayment[] = [{ ...kept(reported({ ...less, status: 'PROCESS' })), verdict: 'succeeded' }];
    const decision = run({ known, listed: [reported(less)], firstPaymentId: 'p-1' });
    expect(decision.payments).toMatchObject([{ status: 'SUCCESS', verdict: 'succeeded' }]);
    expect([names(decision), reasons(decision)]).toEqual([['payment.review'], ['payment-changed']]);
  });

  test('an accepted payment that had failed, and is still listed as FAIL, opens one review', () => {
    const decision = later('FAIL', { status: 'FAIL' });
    expect(decision.payments).toMatchObject([{ status: 'FAIL', verdict: 'succeeded' }]);
    expect([names(decision), reasons(decision)]).toEqual([['payment.review'], ['payment-changed']]);
    expect(run({ known: decision.payments, listed: [reported({ status: 'FAIL' })] }).reviews).toEqual([]);
  });

  test('an accepted payment does not keep the other payments from being judged', () => {
    const known: LedgerPayment[] = [{ ...kept(reported({ status: 'FAIL' })), verdict: 'succeeded' }];
    const listed = [reported({ status: 'NEW' }), reported({ paymentId: 'p-2' })];
    expect(run({ known, listed, firstPaymentId: 'p-1' }).payments).toMatchObject([{ paymentId: 'p-2' }]);
  });
});

describe('accepting a payment', () => {
  test('accepting a payment in another currency states its amount in the currency of the bill only', () => {
    const bill = lockedBill();
    const known = [{ ...kept(reported({ currency: 'USD', commission: '2.00' })), verdict: 'review' as const }];
    const given = { paymentId: 'p-1', amount: '99.00', operator: 'anna' } as Parameters<typeof decideAccepted>[3];
    const { events, payments } = decideAccepted(bill, null, known, given);
    expect(events[0]!.payload).toMatchObject({ amount: '99.00', amountReceived: null, currency: bill.currency });
    expect(events[0]!.payload).not.toHaveProperty('paymentCurrency');
    expect(events[0]!.payload).not.toHaveProperty('commission');
    expect(payments).toMatchObject([{ currency: 'USD' }]);
  });

  const accept = (known: LedgerPayment[], firstPaymentId: string | null = null, bill = lockedBill()) =>
    decideAccepted(bill, firstPaymentId, known, { paymentId: 'p-1', amount: '99.00', operator: 'anna' });

  test('accepting a payment without a listed currency states the amount received and the commission as listed', () => {
    const listed = reported({ amount: null, currency: null, commission: '2.00' });
    expect(accept([kept(listed)]).events[0]!.payload).toMatchObject({ amountReceived: '98.05', commission: '2.00' });
  });

  const listedNow = { amount: '50.00', amountReceived: '49.00', currency: 'USD' };
  test.each<[string, PaymentStatus, typeof listedNow, Partial<LedgerPayment>]>([
    [
      'of a SUCCESS takes over what was corrected',
      'SUCCESS',
      listedNow,
      { ...listedNow, commission: null, contradiction: null },
    ],
    [
      'of a SUCCESS that is still the same leaves it so',
      'SUCCESS',
      { ...listedNow, amount: '100.05', currency: 'RUB' },
      {},
    ],
    ['of a payment in PROCESS leaves it as it is', 'PROCESS', listedNow, {}],
  ])('accepting a listing %s', (_name, status, listed, change) => {
    const row = { ...kept(reported({ status })), verdict: 'review', contradiction: 'of an earlier list' } as const;
    const accepted = { paymentId: 'p-1', amount: '99.00', operator: 'anna', listed };
    const { payments } = decideAccepted(lockedBill(), null, [row], accepted);
    expect(payments).toEqual([{ ...row, ...change, verdict: 'succeeded' }]);
  });

  test('accepting a corrected listing states what was received of it, and keeps the amount that counts if it has none', () => {
    const row = {
      ...kept(reported({ amount: '5.00', amountReceived: '4.90', commission: '0.10' })),
      verdict: 'review',
    } as const;
    const acceptListed = (amount: string | null) => {
      const listed = { amount, amountReceived: '97.05', currency: amount && 'RUB' };
      const decision = decideAccepted(lockedBill(), null, [row], {
        paymentId: 'p-1',
        amount: '99.00',
        operator: 'anna',
        listed,
      });
      return [decision.events[0]!.payload, decision.payments[0]];
    };
    const received = { amount: '99.00', amountReceived: '97.05' };
    for (const amount of ['99.00', null]) {
      const [event, row] = acceptListed(amount);
      expect(event).toMatchObject(received);
      expect(event).not.toHaveProperty('commission');
      expect(row).toMatchObject({ ...received, currency: 'RUB', commission: null });
    }
  });

  test('accepting a payment pays the bill and the order with the stated amount, and names the operator', () => {
    const row = kept(reported({ status: 'PROCESS', amount: '1.00', commission: '2.00' }));
    const decision = accept([kept(reported({ paymentId: 'p-0', status: 'NEW' })), row]);
    expect(decision).toMatchObject({ state: 'PAID', firstPaymentId: 'p-1', reviews: [] });
    expect(decision.payments).toEqual([{ ...row, verdict: 'succeeded' }]);
    expect(decision.events).toMatchObject([
      {
        key: 'payment.succeeded:main:p-1',
        payload: {
          billState: 'PAID',
          amount: '99.00',
          amountReceived: '98.05',
          commission: '2.00',
          firstForOrder: true,
          acceptedBy: 'anna',
        },
      },
    ]);
  });

  test('accepting an unknown payment enters it into the ledger with its id and the stated amount', () => {
    expect(accept([]).payments).toEqual([
      {
        paymentId: 'p-1',
        intentId: lockedBill().intentId,
        status: 'UNKNOWN',
        statusText: null,
        amount: '99.00',
        amountReceived: null,
        commission: null,
        currency: 'RUB',
        fromCard: null,
        createdAtText: null,
        contradiction: null,
        verdict: 'succeeded',
      },
    ]);
  });

  test('accepting more than was billed states the surplus', () => {
    const decision = decideAccepted(lockedBill(), null, [], { paymentId: 'p-1', amount: '150.05', operator: 'anna' });
    expect(decision.events[0]!.payload).toMatchObject({ amount: '150.05', surplus: '50.00' });
    for (const amount of ['100.05', '99.00']) {
      const { events } = decideAccepted(lockedBill(), null, [], { paymentId: 'p-1', amount, operator: 'anna' });
      expect(events[0]!.payload).not.toHaveProperty('surplus');
    }
  });

  test('accepting a payment of a paid order makes it the second one and opens a review', () => {
    const decision = accept([], 'p-0', lockedBill({ state: 'PAID' }));
    expect(decision).toMatchObject({ state: 'PAID', firstPaymentId: null });
    expect(decision.events[0]!.payload).toMatchObject({ firstForOrder: false, acceptedBy: 'anna' });
    expect(reasons(decision)).toEqual(['second-payment']);
  });

  test('accepting a payment neither waits for other payments nor asks about them, however old the bill is', () => {
    const running = kept(reported({ paymentId: 'p-2', status: 'UNKNOWN' }));
    expect(accept([running])).toMatchObject({ state: 'PAID', reviews: [] });
  });

  test('an accepted payment without a listed amount stays as it is while the amount is missing', () => {
    const listed = [reported({ amount: null })];
    const first = run({ listed });
    expect(reasons(first)).toEqual(['amount-missing']);
    const known = first.payments.map((payment) => ({ ...payment, intentId: lockedBill().intentId }));
    const { payments } = accept(known);
    expect(payments).toMatchObject([{ amount: '99.00', verdict: 'succeeded' }]);
    const bill = lockedBill({ state: 'PAID' });
    expect(run({ bill, known: payments, firstPaymentId: 'p-1', listed })).toMatchObject({ payments: [], reviews: [] });
    const changed = run({ bill, known: payments, firstPaymentId: 'p-1', listed: [reported({ amount: '50.00' })] });
    expect(reasons(changed)).toEqual(['payment-changed']);
  });
});
