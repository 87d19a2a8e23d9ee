import { describe, expect, test } from '@jest/globals';
import { kept, names, reasons, run } from '../../../../test/support/decisions.js';
import { lockedBill, reported } from '../../../../test/support/units.js';
import type { PaymentStatus, ReportedPayment } from './payment.js';
import { decideUnlistable } from './decide.js';
import { eventId } from './event-id.js';
import { uuidFromName } from './uuid.js';

const NOW = lockedBill().now.getTime();
const BILL = lockedBill().intentId;

describe('unfinished payments at the end of a bill', () => {
  test.each<[PaymentStatus, string, number, number, string, string[]]>([
    ['UNKNOWN', 'before its end', NOW + 1, NOW + 1, 'OPEN', []],
    ['UNKNOWN', 'from its end on', NOW, NOW + 1, 'OPEN', ['unknown-status']],
    ['UNKNOWN', 'when nobody waits any more', NOW, NOW, 'EXPIRED', ['unknown-status']],
    ['NEW', 'from its end on', NOW, NOW + 1, 'OPEN', []],
    ['NEW', 'when nobody waits any more', NOW, NOW, 'EXPIRED', ['unfinished']],
    ['PROCESS', 'from its end on', NOW, NOW + 1, 'OPEN', []],
    ['PROCESS', 'when nobody waits any more', NOW, NOW, 'EXPIRED', ['unfinished']],
    ['PROCESS', 'where its end comes later', NOW + 1, NOW, 'OPEN', []],
  ])(
    'a bill with a payment in %s gets its state and reviews %s',
    (status, _when, endOfLife, horizon, state, expected) => {
      const decision = run({ known: [kept(reported({ status }))], endOfLife, horizon });
      expect([decision.state, reasons(decision)]).toEqual([state, expected]);
    },
  );

  test('of an ended bill only the unfinished payment is reviewed, not a failed one beside it', () => {
    const known = [kept(reported({ paymentId: 'p-2', status: 'PROCESS' })), kept(reported({ status: 'FAIL' }))];
    const { reviews } = run({ known, endOfLife: NOW, horizon: NOW });
    expect(reviews).toMatchObject([
      { reason: 'unfinished', paymentId: 'p-2', detail: { listed: { billId: 'b-1', status: 'SUCCESS' } } },
    ]);
  });

  test('an unfinished payment of an ended bill is not reviewed by the list that pays the bill', () => {
    const known = [kept(reported({ paymentId: 'p-2', status: 'PROCESS' }))];
    const decision = run({ known, listed: [reported()], endOfLife: NOW, horizon: NOW });
    expect(decision).toMatchObject({ state: 'PAID', reviews: [] });
  });

  test('a payment of another bill neither keeps this bill open nor is reviewed', () => {
    const known = [kept(reported({ status: 'UNKNOWN' }), '00000000-0000-4000-8000-00000000000f')];
    expect(run({ known, endOfLife: NOW, horizon: NOW })).toMatchObject({ state: 'EXPIRED', reviews: [] });
  });

  test('a paid bill stays paid when nothing is listed any more', () => {
    expect(run({ bill: lockedBill({ state: 'PAID' }), endOfLife: NOW })).toMatchObject({ state: 'PAID', events: [] });
  });

  test.each<['PAID' | 'EXPIRED', PaymentStatus, string[]]>([
    ['PAID', 'NEW', []],
    ['PAID', 'PROCESS', ['unfinished']],
    ['PAID', 'UNKNOWN', ['unknown-status']],
    ['EXPIRED', 'NEW', ['unfinished']],
    ['EXPIRED', 'PROCESS', ['unfinished']],
    ['EXPIRED', 'UNKNOWN', ['unknown-status']],
  ])(
    'in a bill that is %s, a payment in %s is reviewed, if at all, at the horizon and not before',
    (state, status, expected) => {
      const input = { bill: lockedBill({ state }), known: [kept(reported({ status }))], endOfLife: NOW };
      expect(reasons(run({ ...input, horizon: NOW + 1 }))).toEqual([]);
      const decision = run({ ...input, horizon: NOW });
      expect([decision.state, reasons(decision)]).toEqual([state, expected]);
    },
  );
});

describe('a review', () => {
  const changed = (change: Partial<ReportedPayment>, closedChanges = 0) =>
    run({ known: [{ ...kept(reported()), closedChanges }], listed: [reported(change)] });
  const unknown = (statusText: string | null) => reported({ status: 'UNKNOWN', statusText });
  const renamed = (statusText: string | null) => run({ known: [kept(unknown('HELD'))], listed: [unknown(statusText)] });

  // An update of the module must not open reviews again that were opened before it.
  test.each([
    ['underpaid:main:p-1', () => run({ listed: [reported({ amount: '1.00' })] })],
    ['overpaid:main:p-1', () => run({ listed: [reported({ amount: '500.05' })] })],
    [`unknown-status:main:p-1:${uuidFromName('PAID UNKNOWN:100.05:RUB')}`, () => renamed('PAID')],
    [`unknown-status:main:p-1:${uuidFromName(' UNKNOWN:100.05:RUB')}`, () => renamed(null)],
    ['payment-changed:main:p-1:FAIL:100.05:RUB', () => changed({ status: 'FAIL' })],
    ['payment-changed:main:p-1:FAIL:100.05:RUB:2', () => changed({ status: 'FAIL' }, 2)],
    ['payment-changed:main:p-1:SUCCESS::', () => changed({ amount: null, currency: null })],
    [`uncheckable:main:${BILL}`, () => decideUnlistable(lockedBill(), 'uncheckable', '')],
  ])('the review key %s is the same in every release', (key, decision) => {
    expect(decision().reviews.map((review) => review.key)).toEqual([key]);
  });

  test('the contradiction of a SUCCESS has the same digest in every release', () => {
    const listed = [reported({ amount: '1.00' }), reported({ status: 'FAIL' })];
    expect(run({ known: [kept(reported())], listed }).payments).toMatchObject([
      { contradiction: uuidFromName('FAIL:100.05:RUB SUCCESS:1.00:RUB') },
    ]);
  });

  test('a foreign payment that is listed twice opens one review, which states the same listing as its event', () => {
    const listed = ['100.05', '50.00'].map((amount) => reported({ billId: 'b-other', amount }));
    const { reviews, events } = run({ listed });
    expect(reviews).toMatchObject([{ detail: { listed: { amount: '100.05' } } }]);
    expect(events.map(({ payload }) => payload)).toMatchObject([{ amount: '100.05' }]);
  });

  test('a review of a whole bill names no payment and no amount', () => {
    const { reviews, events, firstPaymentId } = decideUnlistable(lockedBill(), 'uncheckable', '');
    expect(firstPaymentId).toBeNull();
    expect(reviews[0]!.detail).toEqual({ billed: { amount: '100.05', currency: 'RUB' } });
    expect(events).toMatchObject([
      {
        key: `payment.review:main:uncheckable:main:${BILL}`,
        payload: {
          name: 'payment.review',
          reason: 'uncheckable',
          reviewId: reviews[0]!.id,
          paymentId: null,
          amount: null,
          amountReceived: null,
          fromCard: null,
        },
      },
    ]);
  });

  test('a review of a payment states its details and the status as the service wrote it', () => {
    const { reviews, events } = run({ listed: [reported({ amount: '1.00', statusText: 'Success' })] });
    expect(reviews[0]!.detail).toMatchObject({ listed: { status: 'Success' } });
    expect(events[0]!.payload).toMatchObject({
      billState: 'OPEN',
      paymentId: 'p-1',
      amount: '1.00',
      amountReceived: '98.05',
      fromCard: '411111******1111',
    });
    const unwritten = run({ listed: [reported({ amount: '1.00', statusText: null })] }).reviews[0]!;
    expect(unwritten.detail).toMatchObject({ listed: { status: 'SUCCESS' } });
  });
});

describe('an event', () => {
  test('an event states an id of its own, as a review has another', () => {
    const listed = [
      reported({ status: 'FAIL' }),
      reported({ paymentId: 'p-2' }),
      reported({ paymentId: 'p-3', amount: '1.00' }),
    ];
    const { events, reviews } = run({ listed });
    const all = [...events, ...run({ endOfLife: NOW }).events];
    expect(all.map(({ name }) => name)).toEqual([
      'payment.failed',
      'payment.succeeded',
      'payment.review',
      'bill.expired',
    ]);
    expect(all.map(({ payload }) => payload)).toMatchObject(all.map(({ id }) => ({ id })));
    expect(
      new Set([...all, ...reviews, ...decideUnlistable(lockedBill(), 'uncheckable', '').reviews].map(({ id }) => id))
        .size,
    ).toBe(6);
  });

  test('the id of an event is derived from its payment, and of a review also from its reason, in every release', () => {
    const listed = [
      ...['p-1', 'p-2'].map((paymentId) => reported({ paymentId, status: 'FAIL' })),
      ...['p-3', 'p-4'].map((paymentId) => reported({ paymentId, amount: '1.00' })),
      reported({ paymentId: 'p-5' }),
    ];
    const ids = [...run({ listed }).events, ...run({ endOfLife: NOW }).events].map(({ id }) => id);
    expect(ids).toEqual([
      eventId('payment.failed', lockedBill(), ['p-1']),
      eventId('payment.failed', lockedBill(), ['p-2']),
      eventId('payment.review', lockedBill(), ['p-3', 'underpaid', '']),
      eventId('payment.review', lockedBill(), ['p-4', 'underpaid', '']),
      eventId('payment.succeeded', lockedBill(), ['p-5']),
      eventId('bill.expired', lockedBill(), []),
    ]);
  });

  test('an event states a commission only if the service does', () => {
    const payload = (commission: string | null) => run({ listed: [reported({ commission })] }).events[0]!.payload;
    expect(payload('2.00')).toMatchObject({ commission: '2.00' });
    expect(payload(null)).not.toHaveProperty('commission');
  });

  test('the event of a failure says that the order is paid if the same list shows it', () => {
    const listed = [reported({ status: 'FAIL' }), reported({ paymentId: 'p-2' })];
    expect(run({ listed }).events[0]!.payload).toMatchObject({ name: 'payment.failed', orderPaid: true });
  });

  test('the event of an expired bill has the key of the bill and says whether the order is paid', () => {
    const { events } = run({ endOfLife: NOW });
    expect(events).toMatchObject([{ key: `bill.expired:main:${BILL}` }]);
    expect(events[0]!.payload).toEqual({
      name: 'bill.expired',
      id: events[0]!.id,
      version: 1,
      shop: 'main',
      orderId: 'A-1',
      attempt: 1,
      billId: 'b-1',
      billState: 'EXPIRED',
      billedAmount: '100.05',
      currency: 'RUB',
      custom: 'cart 7',
      orderPaid: false,
      occurredAt: '2026-11-21T12:00:30.000Z',
    });
  });
});

describe('payments of one list', () => {
  const order = (a: Partial<ReportedPayment>, b: Partial<ReportedPayment>) =>
    [
      [reported({ paymentId: 'p-1', ...a }), reported({ paymentId: 'p-2', ...b })],
      [reported({ paymentId: 'p-2', ...b }), reported({ paymentId: 'p-1', ...a })],
    ].map((listed) => run({ listed }).firstPaymentId);
  const at = (minute: number) => new Date(Date.UTC(2026, 10, 21, 12, minute));

  test.each([
    ['the older one first', { createdAt: at(2) }, { createdAt: at(1) }, 'p-2'],
    ['of one age by their ids', { createdAt: at(1) }, { createdAt: at(1) }, 'p-1'],
    ['one whose age is not known first', { createdAt: at(1) }, { createdAt: null }, 'p-2'],
    ['those whose age is not known by their ids', { createdAt: null }, { createdAt: null }, 'p-1'],
  ])('payments of one list pay an order in a stable order: %s', (_name, a, b, first) => {
    expect(order(a, b)).toEqual([first, first]);
  });

  test('payments of one list each get their own verdict, whatever their order', () => {
    const listed = [reported({ paymentId: 'p-2', amount: '1.00' }), reported({ status: 'NEW' })];
    expect(names(run({ listed }))).toEqual(['payment.review']);
  });
});
