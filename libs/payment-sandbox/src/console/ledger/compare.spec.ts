import { describe, expect, test } from '@jest/globals';
import type { Bill, Payment, PaymentStatus } from '../../model/entities.js';
import { compare, type Finding } from './compare.js';
import { type Ledger, LEDGER_ROWS, ledgerOf } from './ledger.js';

const NOW = Date.UTC(2026, 10, 21, 12);
const at = (ms: number): string => new Date(NOW + ms).toISOString();

const bill: Bill = {
  id: 'b1',
  shopId: 'main',
  orderId: 'o1',
  amount: '100.05',
  currency: 'RUB',
  description: '',
  name: '',
  type: 'normal',
  custom: null,
  payerPaysCommission: false,
  createdAt: at(-60_000),
};

function paymentOf(...statuses: PaymentStatus[]): Payment {
  return {
    id: 'p1',
    billId: 'b1',
    status: statuses.at(-1)!,
    amount: '100.05',
    amountReceived: '100.05',
    commission: '0.00',
    currency: 'RUB',
    fromCard: '411111******1111',
    createdAt: at(-50_000),
    history: statuses.map((status) => ({ status, at: at(-50_000) })),
    plan: [],
  };
}

/** What a shop has recorded that has seen the payment, and told those whom it concerns. */
const seen: Ledger = {
  bills: [
    { billId: 'b1', orderId: 'o1', state: 'PAID', amount: '100.05', currency: 'RUB', nextCheckAt: at(3_600_000) },
  ],
  payments: [{ paymentId: 'p1', billId: 'b1', status: 'SUCCESS', amount: '100.05' }],
  events: [
    {
      name: 'payment.succeeded',
      billId: 'b1',
      paymentId: 'p1',
      deliveries: [{ consumer: 'orders', state: 'DONE', lastError: null }],
    },
  ],
  reviews: [],
};
const nothing: Ledger = { bills: [], payments: [], events: [], reviews: [] };
const [seenBill] = seen.bills;
const [seenEvent] = seen.events;
const unseen: Ledger = { ...nothing, bills: [{ ...seenBill!, state: 'OPEN' }] };

function findings(
  ledger: Ledger,
  { payments = [paymentOf('NEW', 'PROCESS', 'SUCCESS')], bills = [bill] } = {},
): Pick<Finding, 'kind' | 'what'>[] {
  const truth = {
    bills,
    now: NOW,
    billOf: (id: string) => bills.find((each) => each.id === id),
    paymentsOf: (id: string) => payments.filter(({ billId }) => billId === id),
  };
  return compare(truth, ledger, NOW).flatMap((check) => check.findings.map(({ kind, what }) => ({ kind, what })));
}

const difference = (what: string): object[] => [{ kind: 'difference', what: expect.stringContaining(what) }];
const open = (what: string): object[] => [{ kind: 'open', what: expect.stringContaining(what) }];

describe('the sandbox and a shop’s ledger', () => {
  test('agree if every payment became one event that was delivered', () => {
    expect(findings(seen)).toEqual([]);
  });

  test('agree if amounts are the same, however they are written', () => {
    const payments = [{ ...seen.payments[0]!, amount: '100.050' }];
    expect(findings({ ...seen, payments })).toEqual([]);
  });

  test('agree if a payment became a review that somebody has closed', () => {
    const review = { billId: 'b1', orderId: 'o1', paymentId: 'p1', reason: 'underpaid', state: 'ACCEPTED' };
    expect(findings({ ...seen, events: [], reviews: [review] })).toEqual([]);
    expect(findings({ ...seen, events: [], reviews: [{ ...review, state: 'OPEN' }] })).toEqual(open('underpaid'));
  });

  test('agree if a failed payment succeeded late, whichever of the two the shop has seen', () => {
    const payments = [paymentOf('NEW', 'PROCESS', 'FAIL', 'SUCCESS')];
    expect(findings(seen, { payments })).toEqual([]);
    const failed = { ...seenEvent!, name: 'payment.failed' };
    expect(findings({ ...seen, events: [failed, seenEvent!] }, { payments })).toEqual([]);
  });

  test.each([
    ['a bill that the shop does not know', nothing, 'does not know this bill'],
    ['a bill over another amount', { ...seen, bills: [{ ...seenBill!, amount: '1.00' }] }, 'billed 1.00 RUB'],
    ['a bill in another currency', { ...seen, bills: [{ ...seenBill!, currency: 'EUR' }] }, 'billed 100.05 EUR'],
    [
      'a bill that the service does not know',
      { ...seen, bills: [seenBill!, { ...seenBill!, billId: 'b2' }] },
      'the service does not',
    ],
    ['two events of one payment', { ...seen, events: [seenEvent!, seenEvent!] }, 'has 2 events'],
    ['another amount of the payment', { ...seen, payments: [{ ...seen.payments[0]!, amount: '1.00' }] }, '1.00 in the'],
    [
      'a payment that the service does not have',
      { ...seen, payments: [{ ...seen.payments[0]!, paymentId: 'p2' }] },
      'no payment p2',
    ],
    [
      'an event of what never was',
      { ...seen, events: [seenEvent!, { ...seenEvent!, name: 'payment.failed' }] },
      'never FAIL',
    ],
    [
      'a dead letter',
      {
        ...seen,
        events: [{ ...seenEvent!, deliveries: [{ consumer: 'mail', state: 'DEAD', lastError: 'no relay' }] }],
      },
      'no relay',
    ],
    [
      'a payment without an event, and no check planned',
      { ...unseen, bills: [{ ...seenBill!, state: 'OPEN', nextCheckAt: null }] },
      'no check of the bill planned',
    ],
    [
      'a payment without an event, and a check overdue',
      { ...unseen, bills: [{ ...seenBill!, state: 'OPEN', nextCheckAt: at(-120_000) }] },
      'no check of the bill planned',
    ],
  ] satisfies [string, Ledger, string][])('differ over %s', (_what, ledger, text) => {
    expect(findings(ledger)).toEqual(difference(text));
  });

  test('differ over a paid bill that nobody paid', () => {
    const ledger = { ...unseen, bills: [{ ...seenBill!, state: 'PAID' }] };
    expect(findings(ledger, { payments: [paymentOf('NEW', 'PROCESS', 'FAIL')] })).toEqual([
      ...open('no event for it yet'),
      ...difference('nobody paid'),
    ]);
  });

  test('are open while a check is planned, a delivery pending, a creation new or unknown', () => {
    expect(findings(unseen)).toEqual(open('Its next check is due'));
    const deliveries = [{ consumer: 'orders', state: 'PENDING', lastError: null }];
    expect(findings({ ...seen, events: [{ ...seenEvent!, deliveries }] })).toEqual(open('on its way to "orders"'));
    expect(findings(nothing, { bills: [{ ...bill, createdAt: at(-1_000) }] })).toEqual(open('has yet to record'));
    const intent = { ...seenBill!, billId: null, state: 'UNKNOWN' };
    expect(findings({ ...nothing, bills: [intent] })).toEqual([
      ...open('answer to the creation was lost'),
      ...open('Nobody knows'),
    ]);
  });

  test('are not called different over what a ledger that is cut off may hold', () => {
    const rows = Array.from({ length: LEDGER_ROWS }, () => seen.payments[0]!);
    expect(findings({ ...nothing, payments: rows })).toEqual([]);
    expect(findings({ ...unseen, bills: [{ ...seenBill!, nextCheckAt: null }], payments: rows })).toEqual([]);
  });
});

test.each([
  [undefined, 'no list "bills"'],
  [[], 'no list "bills"'],
  [{ bills: {} }, 'no list "bills"'],
  [{ bills: [null] }, 'no text "orderId"'],
  [{ bills: [{ ...seenBill, amount: 5 }] }, 'no text "amount"'],
  [{ bills: [], payments: [] }, 'no list "events"'],
])('%j is no ledger', (answer, text) => {
  expect(() => ledgerOf(answer)).toThrow(text);
});
