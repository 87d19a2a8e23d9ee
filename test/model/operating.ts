import { expect } from '@jest/globals';
import fc from 'fast-check';
import { PaymentOperatorActionError } from 'nestjs-payment-acceptance/operations';
import { PaymentServiceError } from 'nestjs-payment-acceptance';
import { CONSUMERS } from './desk.js';
import { cents } from './truth.js';
import { anIndex, pick, step } from './step.js';
import { OPERATOR, SECOND, type World } from './world.js';

const who = { which: anIndex, by: anIndex, twice: fc.boolean() };

/** Does it once, or from both instances at the same moment; whether it was done. Done twice is a failure. */
async function act(
  world: World,
  { by, twice }: { by: number; twice: boolean },
  work: (at: number) => Promise<unknown>,
) {
  const ends = await Promise.allSettled((twice ? [by, by + 1] : [by]).map((at) => work(at % 2)));
  const done = ends.filter(({ status }) => status === 'fulfilled').length;
  for (const end of ends) {
    if (end.status === 'fulfilled' || end.reason instanceof PaymentOperatorActionError) continue;
    if (!(end.reason instanceof PaymentServiceError && world.faulty)) throw end.reason;
  }
  expect(done).toBeLessThanOrEqual(1);
  return done === 1;
}

/** An operator has found the bill of a creation whose answer was lost; or takes another order's for it. */
export const attach = step(
  'attach',
  fc.record(who),
  async (model, world, { which, ...how }) => {
    const unknown = await world.unknown();
    if (unknown.length === 0) return;
    const intent = pick(unknown, which);
    const isKnown = (id: string) => model.bills.some(({ billId }) => billId === id);
    const made = world.sandbox
      .bills()
      .find(
        ({ id, orderId, custom, amount, currency, payerPaysCommission }) =>
          !isKnown(id) &&
          orderId === intent.orderId &&
          custom === intent.custom &&
          cents(amount) === cents(intent.amount) &&
          currency === intent.currency &&
          payerPaysCommission === intent.payerPaysCommission,
      );
    const [other] = model.bills;
    const billId = made?.id ?? other?.billId ?? 'never-made';
    const page = `https://pay.example/transfer/${billId}`;
    // Only of a bill that its shop has can the service say that the list is too long.
    if (made === undefined) await world.setFaults({ requests: {} });
    const done = await act(world, how, (at) =>
      world.operations(at).attachBill(intent.intentId, billId, { operator: OPERATOR, linkPageUrl: page }),
    );
    if (made === undefined) expect(done).toBe(false);
    if (!done) return;
    model.actions.push(`attach-bill ${intent.intentId}`);
    const { shop, orderId } = intent;
    model.bills.push({ shop: shop as 'main' | 'eu', orderId, billId, told: new Map() });
  },
  () => true,
);

export const voidIntent = step(
  'void',
  fc.record(who),
  async (model, world, { which, ...how }) => {
    const unknown = await world.unknown();
    if (unknown.length === 0) return;
    const { intentId } = pick(unknown, which);
    expect(await act(world, how, (at) => world.operations(at).voidBill(intentId, { operator: OPERATOR }))).toBe(true);
    model.actions.push(`void-bill ${intentId}`);
  },
  () => true,
);

/** A person decides a review: whatever it is about is taken for paid if the service has it as SUCCESS. */
export const review = step(
  'review',
  fc.record({ ...who, accept: fc.boolean(), hadFailed: fc.boolean() }),
  async (model, world, { which, accept, hadFailed, ...how }) => {
    if (!(await world.ledger()).reviews.some(({ state }) => state === 'OPEN')) {
      await world.pass(3 * SECOND);
      await world.everybody();
    }
    const { reviews, payments, events } = await world.ledger();
    const open = reviews.filter(({ state }) => state === 'OPEN');
    if (open.length === 0) return;
    const { id, billId, paymentId } = pick(open, which);
    const of = world.bill(billId).payments;
    const paid = of.find((payment) => (paymentId === null || payment.id === paymentId) && payment.status === 'SUCCESS');
    const decided = await act(world, how, (at) =>
      accept
        ? world.reviews(at).accept(id, {
            operator: OPERATOR,
            hadFailed,
            ...(paid && { paymentId: paid.id, amount: paid.amount }),
          })
        : world.reviews(at).dismiss(id, { operator: OPERATOR }),
    );
    // A review of the whole bill does not say which payment it would be, and whether it has failed before.
    const failed = payments.some(({ paymentId: known, status }) => known === paid?.id && status === 'FAIL');
    // One that has a review of its own is decided there first, unless it counts already.
    const counts = payments.some(({ paymentId: known, verdict }) => known === paid?.id && verdict === 'succeeded');
    const isShown = paymentId === null && !counts && open.some(({ paymentId: of }) => of === paid?.id);
    expect(decided).toBe(!accept || (paid !== undefined && !isShown && (!failed || (hadFailed && paymentId === null))));
    if (!decided) return;
    model.actions.push(`${accept ? 'accept' : 'dismiss'}-review ${id}`);
    const told = events.some((event) => event.name === 'payment.succeeded' && event.paymentId === paid?.id);
    if (!accept || !paid || told) return;
    const known = payments.some((payment) => payment.paymentId === paid.id && payment.status === 'SUCCESS');
    model.accepted.set(paid.id, known ? 'as listed' : 'ahead of the list');
    if (failed) model.afterFailure.add(paid.id);
  },
);

async function replays(world: World): Promise<number> {
  const actions = `SELECT 1 FROM payment_acceptance.operator_action WHERE action = 'replay'`;
  return (await world.query(actions)).length;
}

/** Dead letters are sent again: one, a consumer's, or all. Where there are none, one is made of an order's events first. */
export const replayDeadLetters = step(
  'replay dead letters',
  fc.record({
    ...who,
    consumer: fc.constantFrom(...Object.keys(CONSUMERS)),
    mended: fc.boolean(),
    what: fc.constantFrom('one', 'a consumer’s', 'all'),
  }),
  async (model, world, { which, by, twice, what, ...broken }) => {
    const letters = () => world.operations(0).deadLetters();
    if ((await letters()).length === 0) {
      const { orderId } = pick(model.bills, which);
      world.desk.break(broken.consumer, orderId);
      await world.wearOut();
      if (broken.mended) world.desk.mend(broken.consumer, orderId);
    }
    const dead = await letters();
    if (dead.length === 0) return;
    const chosen = pick(dead, which);
    const filter = { one: { deliveryId: chosen.deliveryId }, 'a consumer’s': { consumer: chosen.consumer }, all: {} }[
      what
    ];
    const due = dead.filter((letter) =>
      Object.entries(filter).every(([key, value]) => letter[key as keyof typeof filter] === value),
    );
    const before = await replays(world);
    const counts = await Promise.all(
      (twice ? [by, by + 1] : [by]).map((at) => world.operations(at % 2).replay(filter, { operator: OPERATOR })),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(due.length);
    // Of two who replay one delivery at once, the later may find it gone: nothing is recorded then.
    const recorded = (await replays(world)) - before;
    if (what !== 'one') expect(recorded).toBe(counts.length);
    else expect([1, counts.length]).toContain(recorded);
    model.actions.push(...Array<string>(recorded).fill(`replay ${what === 'one' ? 'one' : 'dead letters'}`));
  },
);
