import { describe, expect, test } from '@jest/globals';
import { reported } from '../../../../test/support/units.js';
import { addToTotals, comparePayments, isOfDay, type ReconciliationTotal } from './reconciliation.js';

const bill = { intentId: 'i-1', orderId: 'A-1', billId: 'b-1', state: 'PAID', openedAt: new Date(0) } as const;
const kept = (more: object = {}) => ({
  paymentId: 'p-1',
  status: 'SUCCESS' as const,
  amount: '100.05',
  currency: 'RUB',
  createdAtText: '2026-11-21 12:00:00',
  firstSeenAt: new Date('2026-11-21T12:00:05Z'),
  verdict: 'succeeded',
  succeeded: true,
  ...more,
});

describe('a row for each payment that either side has', () => {
  test.each([
    ['the same on both', [reported()], [kept()], [[]]],
    ['only at the service', [reported()], [], [['missing-in-ledger']]],
    ['only in the ledger', [], [kept()], [['missing-at-service']]],
    ['another status', [reported({ status: 'FAIL' })], [kept()], [['status']]],
    ['another amount', [reported({ amount: '100.06' })], [kept()], [['amount']]],
    ['no amount', [reported({ amount: null })], [kept()], [['amount']]],
    ['another currency', [reported({ currency: 'USD' })], [kept()], [['currency']]],
    ['a payment of another bill', [reported({ billId: 'b-2' })], [], [['other-bill']]],
    ['FAIL on both, but accepted', [reported({ status: 'FAIL' })], [kept({ status: 'FAIL' })], [['status']]],
    ['a status that a judge knows', [reported({ status: 'UNKNOWN' })], [kept({ status: 'UNKNOWN' })], [[]]],
    ['no event', [reported()], [kept({ succeeded: false })], [['event-missing']]],
    ['no event where none is due', [reported()], [kept({ succeeded: false, verdict: 'review' })], [[]]],
    ['two payments', [reported(), reported({ paymentId: 'p-2' })], [kept()], [[], ['missing-in-ledger']]],
  ])('the row of a payment states how service and ledger differ: %s', (_name, listed, ledger, differences) => {
    expect(comparePayments('main', bill, listed, ledger).map((row) => row.differences)).toEqual(differences);
  });
});

test('of several listed entries of one payment, the one that settles is compared', () => {
  const listed = [reported(), reported({ status: 'NEW' })];
  for (const list of [listed, [...listed].reverse()])
    expect(comparePayments('main', bill, list, [kept()])).toMatchObject([
      { serviceStatus: 'SUCCESS', differences: [] },
    ]);
});

describe('the day of a payment', () => {
  const span = { from: new Date('2026-11-20T21:00:00Z'), to: new Date('2026-11-21T21:00:00Z') };
  const [row] = comparePayments('main', bill, [], [kept()]);
  const at = (createdAt: string | null, firstSeenAt: string | null) =>
    isOfDay({ ...row!, createdAt, firstSeenAt }, '2026-11-21', span);

  test("the day of a payment is that of the service's wall clock, else the day it was first seen, else any", () => {
    expect(at('2026-11-21 23:59:59', '2026-11-22T08:00:00.000Z')).toBe(true);
    expect(at('2026-11-22 00:00:00', '2026-11-21T12:00:00.000Z')).toBe(false);
    expect(at(null, '2026-11-20T21:00:00.000Z')).toBe(true);
    expect(at('tomorrow', '2026-11-21T21:00:00.000Z')).toBe(false);
    expect(at(null, null)).toBe(true);
  });
});

test('a payment missing from a list that was not read in full is not reported as missing', () => {
  const differences = (listed: ReturnType<typeof reported>[]) =>
    comparePayments('main', bill, listed, [kept()], false).map((row) => row.differences);
  expect(differences([])).toEqual([['not-answered']]);
  expect(differences([reported(), reported({ paymentId: 'p-2' })])).toEqual([[], ['missing-in-ledger']]);
});

test('a payment that a statement lists under another bill counts once on each side', () => {
  const totals = new Map<string, ReconciliationTotal>();
  const [row] = comparePayments('main', bill, [reported({ billId: 'b-2' })], [kept()]);
  addToTotals(totals, row!, true);
  expect([...totals.values()]).toMatchObject([{ serviceAmount: '100.05', ledgerAmount: '100.05' }]);
});

test('totals are exact, and count what succeeded on each side', () => {
  const totals = new Map<string, ReconciliationTotal>();
  const listed = ['p-1', 'p-2', 'p-3'].map((paymentId) => reported({ paymentId, amount: '99999999.99' }));
  const failed = reported({ paymentId: 'p-4', status: 'FAIL' });
  const foreign = reported({ paymentId: 'p-5', billId: 'b-2' });
  const rows = comparePayments('main', bill, [...listed, failed, foreign], [kept({ amount: '99999999.99' })]);
  for (const row of rows) addToTotals(totals, row);
  expect([...totals.values()]).toEqual([
    {
      currency: 'RUB',
      servicePayments: 3,
      serviceAmount: '299999999.97',
      ledgerPayments: 1,
      ledgerAmount: '99999999.99',
    },
  ]);
});
