import fc from 'fast-check';
import { FAULTS, KINDS } from './database-proxy.js';
import type { World } from './world.js';

export interface Step {
  run(world: World): Promise<unknown>;
  toString(): string;
}

function step<P>(
  name: string,
  parameters: fc.Arbitrary<P>,
  run: (world: World, parameters: P) => Promise<unknown>,
): fc.Arbitrary<Step> {
  return parameters.map((chosen) => ({
    run: (world) => run(world, chosen),
    toString: () => `${name}(${fc.stringify(chosen)})`,
  }));
}

/** Small, so that steps meet the same bills again. */
const anIndex = fc.nat({ max: 3 });
const aSeat = fc.nat({ max: 1 });

const order = step('order', fc.record({ shop: fc.constantFrom('main', 'eu'), seat: aSeat }), (world, { shop, seat }) =>
  world.order(shop, seat),
);

const HOW = {
  success: {},
  fail: { outcome: 'fail' },
  underpaid: { amount: '9.00' },
  overpaid: { amount: '11.00' },
} as const;

const pay = step(
  'pay',
  fc.record({
    bill: anIndex,
    how: fc.constantFrom('success', 'success', 'fail', 'underpaid', 'overpaid'),
    seat: aSeat,
  }),
  async (world, { bill, how, seat }) => {
    const { bills } = world;
    if (bills.length > 0) await world.pay(bills[bill % bills.length]!.billId, HOW[how], seat);
  },
);

const postback = step('postback', fc.record({ bill: anIndex, seat: aSeat }), async (world, { bill, seat }) => {
  const { bills } = world;
  if (bills.length > 0) await world.postback(bills[bill % bills.length]!.billId, seat);
});

const work = step('work', fc.record({ seat: aSeat, both: fc.boolean() }), async (world, { seat, both }) => {
  await world.pass(3_000);
  const seats = both ? [0, 1] : [seat];
  await Promise.all(seats.flatMap((each) => [world.confirm(each), world.deliver(each)]));
  await Promise.all(seats.map((each) => world.deliver(each)));
});

const consume = step(
  'consume',
  fc.record({ message: anIndex, seats: fc.constantFrom([0], [1], [0, 1]) }),
  (world, { message, seats }) => world.consumeAny(message, seats),
);

const decide = step(
  'decide',
  fc.record({ accept: fc.boolean(), review: anIndex, seat: aSeat }),
  (world, { accept, review, seat }) => world.decide(accept, review, seat),
);

const replay = step('replay', fc.record({ letter: anIndex, seat: aSeat }), (world, { letter, seat }) =>
  world.replay(letter, seat),
);

/** The durable handler fails as often as an event has attempts, or less. */
const failing = step(
  'handlers fail',
  fc.record({ seat: aSeat, times: fc.integer({ min: 1, max: 3 }) }),
  (world, { seat, times }) => {
    world.seats[seat]!.desk.failures = times;
    return Promise.resolve();
  },
);

const pass = step('pass', fc.constantFrom(1_000, 20_000, 180_000), (world, ms) => world.pass(ms));

const business = fc.oneof(
  { weight: 3, arbitrary: order },
  { weight: 5, arbitrary: pay },
  { weight: 2, arbitrary: postback },
  { weight: 6, arbitrary: work },
  { weight: 4, arbitrary: consume },
  { weight: 3, arbitrary: decide },
  { weight: 2, arbitrary: replay },
);

/** What the step does next of a kind, or one of the two statements after it, is lost: at each seat that comes to it. */
const trouble = step(
  'trouble',
  fc.record({
    fault: fc.constantFrom(...FAULTS),
    kind: fc.constantFrom('commit', ...KINDS),
    after: fc.constantFrom(0, 0, 1, 2),
    during: business,
  }),
  (world, { fault, kind, after, during }) => {
    for (const { proxy } of world.seats) {
      let left = after;
      proxy.arm(fault, (statement) => statement.kind === kind && (left -= 1) < 0);
    }
    return during.run(world);
  },
);

export const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: business },
    { weight: 4, arbitrary: trouble },
    { weight: 1, arbitrary: failing },
    { weight: 1, arbitrary: pass },
  ),
  { minLength: 20, maxLength: 30, size: 'max' },
);

/** What a business does from an order to a payment, a decision and a replay; all of it at the first seat where that works. */
export async function journey(world: World): Promise<void> {
  await world.order('main', 0);
  await world.orderAgain(1);
  const { billId } = world.bills[0]!;
  await world.pay(billId, {});
  await world.pay(billId, { amount: '9.00' });
  await world.pass(30_000);
  await world.confirm(0);
  world.seats[0].desk.failures = 3;
  for (let attempt = 0; attempt < 4; attempt += 1) {
    await world.pass(30_000);
    await world.deliver(0);
  }
  world.seats[0].desk.failures = 0;
  await world.replay(0, 0);
  await world.deliver(0);
  await world.decide(true, 0, 0);
  await world.deliver(0);
  await world.consumeAny(0, [0]);
  await world.consumeAny(0, [0, 1]);
}
