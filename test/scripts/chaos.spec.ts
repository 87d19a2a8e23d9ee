import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { account, type Accounted } from '../chaos/account.mjs';
import { readArguments } from '../chaos/arguments.mjs';
import { phases, runPhases } from '../chaos/phases.mjs';

/** One order of 10.00, paid and settled as it should be, with one postback; and a creation without a known outcome. */
function truth(): Accounted {
  const payment = { id: 'p1', status: 'SUCCESS', amount: '10.00', currency: 'RUB' };
  const postback = { fields: { TrsId: 'b1', Status: 'SUCCESS', OutSum: '10.00' }, tries: [{ status: 200 }] };
  const bill = { id: 'b1', orderId: 'o1', amount: '10.00', currency: 'RUB', custom: 'i1' };
  const taken = { orderId: 'o1', pending: false, matched: true };
  const succeeded = { name: 'payment.succeeded', paymentId: 'p1', orderId: 'o1' };
  return {
    bills: [
      { ...bill, payments: [payment], callbacks: [postback] },
      { ...bill, id: 'b0', orderId: 'o2', custom: 'i0', payments: [], callbacks: [] },
    ],
    seen: {
      orders: [{ id: 'o1', billId: 'b1' }],
      postbacks: [],
      redirects: [{ kind: 'redirect-success', orderId: 'o1' }],
    },
    ledger: {
      bills: [
        { id: 'i1', shop: 'main', orderId: 'o1', attempt: 1, state: 'PAID', billId: 'b1' },
        { id: 'i0', shop: 'main', orderId: 'o2', attempt: 1, state: 'UNKNOWN', billId: null },
      ],
      payments: [{ id: 'p1', status: 'SUCCESS' }],
      events: [{ id: 'e1', ...succeeded }],
      deliveries: [{ id: '1', name: 'payment.succeeded', state: 'DONE', attempts: 1, error: null }],
      reviews: [],
      callbacks: [
        { ...taken, kind: 'postback', trsId: 'b1', status: 'SUCCESS', outSum: '10.00' },
        { ...taken, kind: 'redirect-success', trsId: null, status: null, outSum: null },
      ],
      orders: [
        { id: 'o1', status: 'paid' },
        { id: 'o2', status: 'pending' },
      ],
      effects: [succeeded],
    },
  };
}

function accountAfter(change: (input: Accounted) => void) {
  const input = truth();
  change(input);
  const { lost, double } = account(input);
  return { lost, double };
}

describe("the chaos test's accounting", () => {
  test('the accounting finds nothing if all is right', () => {
    expect(accountAfter(() => undefined)).toEqual({ lost: [], double: [] });
  });

  test.each<[string, (input: Accounted) => void, RegExp]>([
    ['no event', ({ ledger }) => ledger.events.pop(), /has no event payment.succeeded/],
    ['no effect', ({ ledger }) => ledger.effects.pop(), /no effect on its order/],
    ['an unpaid order', ({ ledger }) => (ledger.orders[0]!.status = 'pending'), /o1 is pending, and was paid for/],
    ['a dead letter', ({ ledger }) => (ledger.deliveries[0]!.state = 'DEAD'), /delivery 1 .* is DEAD/],
    ['a postback not stored', ({ ledger }) => ledger.callbacks.shift(), /postback b1 .* stored 0 times/],
    ['a redirect not stored', ({ ledger }) => ledger.callbacks.pop(), /redirect-success o1: .* stored 0 times/],
    [
      'an answered order not stored',
      ({ seen }) => seen.orders.push({ id: 'o9', billId: 'b9' }),
      /order o9 .* not on record/,
    ],
    ['a hidden unknown bill', ({ ledger }) => (ledger.bills[1]!.state = 'REJECTED'), /intent i0 is REJECTED/],
    ['a bill without an intent', ({ ledger }) => ledger.bills.pop(), /intent i0 is not on record/],
    ['a creation without an end', ({ ledger }) => (ledger.bills[1]!.state = 'CREATING'), /being created for ever/],
    [
      'an underpaid bill without a review',
      ({ bills, ledger }) => {
        bills[0]!.payments[0]!.amount = '9.99';
        ledger.events = [];
        ledger.effects = [];
        ledger.orders[0]!.status = 'pending';
      },
      /has neither event nor review/,
    ],
  ])('the accounting finds a loss: %s', (_name, change, sentence) => {
    const { lost } = accountAfter(change);
    expect(lost.join('\n')).toMatch(sentence);
  });

  test.each<[string, (input: Accounted) => void, RegExp]>([
    ['two events', ({ ledger }) => ledger.events.push({ ...ledger.events[0]!, id: 'e2' }), /has 2 events/],
    ['two effects', ({ ledger }) => ledger.effects.push(ledger.effects[0]!), /has 2 effects/],
    ['an order paid by nothing', ({ ledger }) => (ledger.orders[1]!.status = 'paid'), /o2 is paid, without/],
    ['an event of a failed payment', ({ bills }) => (bills[0]!.payments[0]!.status = 'FAIL'), /the service calls FAIL/],
    ['an event of no payment', ({ bills }) => bills[0]!.payments.pop(), /the service calls nothing/],
    ['an event of an underpaid bill', ({ bills }) => (bills[0]!.payments[0]!.amount = '9.99'), /does not fit its bill/],
    ['a bill that was never made', ({ ledger }) => (ledger.bills[1]!.billId = 'b7'), /bill b7 .* has none such/],
    [
      'two equal reviews',
      ({ ledger }) => {
        const review = { reason: 'overpaid', paymentId: 'p1', orderId: 'o1' };
        ledger.reviews.push(review, { ...review });
      },
      /reviews twice: overpaid, overpaid/,
    ],
  ])('the accounting finds a duplicate: %s', (_name, change, sentence) => {
    const { double } = accountAfter(change);
    expect(double.join('\n')).toMatch(sentence);
  });
});

describe('arguments of the chaos test', () => {
  test('the chaos test without arguments runs every phase at full length', () => {
    expect(readArguments([])).toMatchObject({
      phases: ['crash', 'model', 'fuzz', 'failover', 'load'],
      minutes: 5,
      modelRuns: 20_000,
      fuzzMinutes: 5,
      dropAll: false,
      failover: ['kill', 'silent', 'switchover', 'lagging'],
    });
    expect(readArguments(['--seed', '7'])).toMatchObject({ seed: 7, phases: { length: 5 } });
  });

  test.each<[string[], object]>([
    [['--minutes', '0.5', '--seed', '7'], { phases: ['load'], minutes: 0.5, seed: 7 }],
    [['--drop-all-postbacks'], { phases: ['load'], dropAll: true }],
    [['--fuzz-minutes', '0.5', '--seed', '7'], { phases: ['fuzz'], fuzzMinutes: 0.5, seed: 7 }],
    [['--minutes', '1', '--fuzz-minutes', '2'], { phases: ['fuzz', 'load'], minutes: 1, fuzzMinutes: 2 }],
    [['--model-runs', '300'], { phases: ['model'], modelRuns: 300 }],
    [['--failover', 'silent', '--rounds', '10'], { phases: ['failover'], failover: ['silent'], rounds: 10 }],
    [['--failover', 'all'], { phases: ['failover'], failover: { length: 4 } }],
    [['--crash', '--model-runs', '2'], { phases: ['crash', 'model'], modelRuns: 2 }],
  ])('the chaos test with %j runs only what they name', (args, expected) => {
    expect(readArguments(args)).toMatchObject(expected);
  });

  test.each([
    ['--model-runs', '0'],
    ['--minutes', 'x'],
    ['--fuzz-minutes', '0'],
    ['--fuzz-minutes'],
    ['--seed', '-1'],
    ['--failover', 'slowly'],
    ['--failover', 'toString'],
    ['--rounds', '0'],
    ['--runs', '3'],
    ['--crash', '3'],
  ])('the chaos test refuses %s %s with its usage', (...args) => {
    expect(() => readArguments(args)).toThrow(/npm run test:chaos/);
  });
});

describe('the phases of the chaos test', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const phase = (run: () => Promise<number>) => ({ says: () => 'something', run });
  const all = {
    good: phase(() => Promise.resolve(0)),
    bad: phase(() => Promise.resolve(1)),
    broken: phase(() => Promise.reject(new Error('it is broken'))),
  };

  async function run(...phases: string[]) {
    const said = jest.spyOn(console, 'log').mockReturnValue();
    const failures = jest.spyOn(console, 'error').mockReturnValue();
    const code = await runPhases({ ...readArguments(['--seed', '7']), phases }, all);
    return { code, said: said.mock.calls.join('\n'), failures: failures.mock.calls.join('\n') };
  }

  test('the chaos test exits with 0 if all phases pass, with the seed and the phases left out', async () => {
    const { code, said } = await run('good');
    expect(code).toBe(0);
    expect(said).toMatch(/seed 7[^]*good +passed[^]*bad +left out[^]*broken +left out: npm run test:chaos/);
  });

  test('the chaos test exits with 1 if a phase fails or breaks, and runs the others', async () => {
    const { code, said, failures } = await run('bad', 'broken', 'good');
    expect(code).toBe(1);
    expect(said).toMatch(/bad +FAILED[^]*broken +FAILED[^]*good +passed/);
    expect(failures).toContain('it is broken');
  });

  test('each phase of the chaos test describes what it will do', () => {
    const options = readArguments(['--seed', '7']);
    expect(Object.keys(phases)).toEqual(options.phases);
    const said = Object.values(phases).map(({ says }) => says(options));
    expect(said[2]).toBe('5 minutes of bodies of every shape on the callback routes, seed 7');
  });

  test('the chaos test fails if it ran no phase', async () => {
    expect((await run()).code).toBe(1);
  });
});
