import { describe, expect, test } from '@jest/globals';
import { violations } from './account.js';
import { History, type Entry, type Tables } from './history.js';

/** Two payments of one bill, a SUCCESS and one that an operator has accepted, and a dead letter that was replayed. */
const SEEN: readonly Entry[] = [
  { what: 'order', shop: 'main', orderId: 'o-1' },
  { what: 'bill', shop: 'main', orderId: 'o-1', billId: 'b-1' },
  { what: 'payment', paymentId: 'p-1', billId: 'b-1', status: 'SUCCESS' },
  { what: 'payment', paymentId: 'p-2', billId: 'b-1', status: 'SUCCESS' },
  { what: 'payment', paymentId: 'p-3', billId: 'b-1', status: 'FAIL' },
  { what: 'acknowledged', billId: 'b-1', mark: null },
  { what: 'acknowledged', billId: 'b-1', mark: 'mark-1' },
  { what: 'handed', application: 'main', shop: 'main', eventId: 'e-1' },
  { what: 'processed', eventId: 'e-1', now: true },
  { what: 'action', note: 'a-1', target: 'r-2', outcome: 'done' },
  { what: 'action', note: 'a-2', target: 'd-1', outcome: 'unknown' },
];

const RIGHT: Tables = {
  bills: [{ shop: 'main', orderId: 'o-1', billId: 'b-1' }],
  events: [
    { id: 'e-1', name: 'payment.succeeded', billId: 'b-1', paymentId: 'p-1' },
    { id: 'e-2', name: 'payment.succeeded', billId: 'b-1', paymentId: 'p-2' },
    { id: 'e-3', name: 'payment.failed', billId: 'b-1', paymentId: 'p-3' },
    { id: 'e-4', name: 'payment.review', billId: 'b-1', paymentId: 'p-2' },
  ],
  reviews: [{ id: 'r-2', billId: 'b-1', paymentId: 'p-2', state: 'ACCEPTED' }],
  deliveries: [{ id: 'd-1', eventId: 'e-1', replays: 1 }],
  effects: ['orders', 'inbox'].flatMap((consumer) => ['e-1', 'e-2', 'e-3'].map((eventId) => ({ consumer, eventId }))),
  callbacks: [
    { billId: 'b-1', mark: null },
    { billId: 'b-1', mark: 'mark-1' },
  ],
  actions: [
    { note: 'a-1', action: 'accept-review', target: 'r-2' },
    { note: 'a-2', action: 'replay', target: 'd-1' },
  ],
};

describe('the checker of a recorded history', () => {
  const accountOf = (tables: Partial<Tables> = {}, more: readonly Entry[] = []): string[] => {
    const history = new History();
    for (const entry of [...SEEN, ...more]) history.add(entry);
    return violations(history, { ...RIGHT, ...tables });
  };
  const without = <Row>(rows: readonly Row[], index: number): Row[] => rows.filter((_, at) => at !== index);
  const { events, effects, callbacks, actions } = RIGHT;

  test('the checker finds nothing in a correct history', () => {
    expect(accountOf()).toEqual([]);
  });

  test('the checker accepts an open or dismissed review in place of an event', () => {
    const payment = { what: 'payment', paymentId: 'p-4', billId: 'b-1', status: 'SUCCESS' } as const;
    const review = { id: 'r-4', billId: 'b-1', paymentId: 'p-4' };
    const dismissed: Entry = { what: 'action', note: 'a-4', target: 'r-4', outcome: 'done' };
    expect(accountOf({ reviews: [...RIGHT.reviews, { ...review, state: 'OPEN' }] }, [payment])).toEqual([]);
    const record = { note: 'a-4', action: 'dismiss-review', target: 'r-4' };
    const decided = { reviews: [...RIGHT.reviews, { ...review, state: 'DISMISSED' }], actions: [...actions, record] };
    expect(accountOf(decided, [payment, dismissed])).toEqual([]);
  });

  test.each<[what: string, violation: RegExp, tables: Partial<Tables>, ...seen: Entry[]]>([
    ['a SUCCESS without an event', /^SUCCESS p-1 has no event and no review/, { events: without(events, 0) }],
    ['a FAIL without an event', /^FAIL p-3 has no event/, { events: without(events, 2) }],
    ['two events', /^SUCCESS p-1 has 2 events/, { events: [...events, { ...events[0]!, id: 'e-9' }] }],
    [
      'an event of no payment',
      /e-9 has no payment/,
      { events: [...events, { ...events[0]!, id: 'e-9', paymentId: 'p-9' }] },
    ],
    [
      'a SUCCESS told as a FAIL',
      /e-9 has no payment/,
      { events: [...events, { ...events[0]!, id: 'e-9', name: 'payment.failed' }] },
    ],
    [
      'an event of another bill',
      /e-9 has no bill/,
      { events: [...events, { ...events[0]!, id: 'e-9', billId: 'b-9' }] },
    ],
    ['a lost effect', /^Event e-1 has 0 effects of orders/, { effects: without(effects, 0) }],
    ['a doubled effect', /^Event e-1 has 2 effects of orders/, { effects: [...effects, effects[0]!] }],
    ['a lost effect of processOnce', /^Event e-1 has 0 effects of inbox/, { effects: without(effects, 3) }],
    ['a doubled effect of processOnce', /^Event e-1 has 2 effects of inbox/, { effects: [...effects, effects[3]!] }],
    ['an effect of no event', /no event e-9/, { effects: [...effects, { consumer: 'orders', eventId: 'e-9' }] }],
    ['work done twice', /worked twice for e-1/, {}, { what: 'processed', eventId: 'e-1', now: true }],
    [
      'a handed event that is not there',
      /e-9 was handed over/,
      {},
      { what: 'handed', application: 'main', shop: 'main', eventId: 'e-9' },
    ],
    [
      'an event at the other application',
      /of main reached eu/,
      {},
      { what: 'handed', application: 'eu', shop: 'main', eventId: 'e-1' },
    ],
    ['a lost postback', /mark-1 for b-1: 1 acknowledged, 0 stored/, { callbacks: without(callbacks, 1) }],
    [
      'a lost postback of the service',
      /of the service for b-1: 1 acknowledged, 0/,
      { callbacks: without(callbacks, 0) },
    ],
    [
      'a bill that is not on record',
      /^Bill b-1 was given for o-1 and/,
      { bills: [{ shop: 'main', orderId: 'o-1', billId: null }] },
    ],
    ['an order without a bill', /^No bill for o-9/, {}, { what: 'order', shop: 'main', orderId: 'o-9' }],
    ['an action that is done and not there', /^Action a-1 was done, and has 0/, { actions: without(actions, 0) }],
    ['half an action: the record', /^Review r-2 is ACCEPTED with 0 records/, { actions: without(actions, 0) }],
    [
      'half an action: the review',
      /^Review r-2 is OPEN with 1 records/,
      { reviews: [{ ...RIGHT.reviews[0]!, state: 'OPEN' }] },
    ],
    ['half an action: the event', /^Review r-2 was accepted, and its payment has no/, { events: without(events, 1) }],
    [
      'half an action: the replay',
      /^Delivery d-1 was replayed 0 times/,
      { deliveries: [{ ...RIGHT.deliveries[0]!, replays: 0 }] },
    ],
    ['an action that happened twice', /^Action a-2 was unknown, and has 2/, { actions: [...actions, actions[1]!] }],
    [
      'an action of nobody',
      /^Nobody has done a-9/,
      { actions: [...actions, { note: 'a-9', action: 'x', target: 'y' }] },
    ],
    [
      'a refused action that is there',
      /^Action a-9 was refused, and has 1/,
      { actions: [...actions, { note: 'a-9', action: 'x', target: 'y' }] },
      { what: 'action', note: 'a-9', target: 'y', outcome: 'refused' },
    ],
  ])('the checker finds %s', (_what, violation, tables, ...seen) => {
    expect(accountOf(tables, seen)).toContainEqual(expect.stringMatching(violation));
  });
});
