import { expect } from '@jest/globals';
import { CONSUMERS } from './desk.js';
import { readEvents, type EventRow } from './events.js';
import { expectLedger } from './ledger-checks.js';
import { RANK, type Model } from './truth.js';
import { DAY, MAX_ATTEMPTS, MAX_UNMATCHED, OPERATOR, SECOND, type World } from './world.js';

interface DeliveryRow {
  readonly eventId: string;
  readonly consumer: string;
  readonly state: string;
  readonly attempts: number;
  readonly replays: number;
}

/** Ends all faults, lets time pass, and checks that everything has been settled and delivered correctly. */
export async function settleAndCheck(model: Model, world: World): Promise<void> {
  await world.sandbox.clearFaults();
  world.desk.heal();
  if (!world.hostsBooks()) await world.restart(0, true);
  await answerHints(model, world);
  // Beyond the lifetime of every bill, so that the schedule finds what no hint has announced.
  await world.pass(4 * DAY);
  await world.untilQuiet();
  const events = await readEvents(world);
  await expectLedger(model, world, events);
  await expectOrders(model, world, events);
  await expectDeliveries(world, events);
  await expectOperated(model, world, events);
  await expectNothingLeft(model, world);
}

/** Checks that hints are answered soon, without waiting for the schedule. */
async function answerHints(model: Model, world: World): Promise<void> {
  for (let round = 0; round < 6; round += 1) {
    await world.pass(65 * SECOND);
    await world.told(model);
    await world.untilQuiet();
    if (!(await world.hinted())) break;
  }
  expect(await world.hinted()).toBe(false);
  const { payments } = await world.ledger();
  const known = new Map(payments.map(({ paymentId, status }) => [paymentId, status]));
  for (const { billId, told } of model.bills) {
    if (world.refusedToList(billId)) continue;
    for (const [id, status] of told) {
      const rank = RANK[known.get(id) ?? ''] ?? 0;
      if (rank < RANK[status]!) throw new Error(`A hint is lost: ${id} is ${status}, we have ${known.get(id) ?? '-'}.`);
    }
  }
}

/** An order has exactly one first payment if any payment was accepted, and none otherwise. */
async function expectOrders(model: Model, world: World, events: readonly EventRow[]): Promise<void> {
  const orders = await world.query<{ shop: string; orderId: string; first: string | null }>(
    `SELECT shop, order_id AS "orderId", first_payment_id AS first FROM payment_acceptance.shop_order`,
  );
  for (const { shop, orderId, first } of orders) {
    const ids = model.bills
      .filter((bill) => bill.shop === shop && bill.orderId === orderId)
      .map(({ billId }) => billId);
    const accepted = events.filter(({ name, billId }) => name === 'payment.succeeded' && ids.includes(billId));
    const firsts = accepted.filter(({ data }) => data.firstForOrder).map(({ data }) => data.paymentId);
    expect([orderId, firsts]).toEqual([orderId, accepted.length > 0 ? [first] : []]);
    if (accepted.length === 0) expect(first).toBeNull();
  }
}

/** Every consumer has had every event that it takes once, in order, or has a dead letter that its failures explain. */
async function expectDeliveries(world: World, events: readonly EventRow[]): Promise<void> {
  const deliveries = await world.query<DeliveryRow>(
    `SELECT event_id AS "eventId", consumer, state, attempts, replays FROM payment_acceptance.delivery`,
  );
  const due = events.flatMap(({ id, name, shop }) =>
    Object.keys(CONSUMERS)
      .filter((consumer) => CONSUMERS[consumer]!.includes(name) && (consumer !== 'eu-books' || shop === 'eu'))
      .map((consumer) => `${consumer} ${id}`),
  );
  expect(deliveries.map(({ consumer, eventId }) => `${consumer} ${eventId}`).sort()).toEqual(due.sort());
  const done: string[] = [];
  for (const { consumer, eventId, state, attempts, replays } of deliveries) {
    const key = `${consumer} ${eventId}`;
    const failures = MAX_ATTEMPTS * (1 + replays);
    if (state === 'DONE') done.push(key);
    else expect([state, attempts, world.desk.failures.get(key)]).toEqual(['DEAD', MAX_ATTEMPTS, failures]);
  }
  const listened = done.filter((key) => key.startsWith('event-emitter '));
  expect([...world.desk.heard].map((id) => `event-emitter ${id}`)).toEqual(expect.arrayContaining(listened));

  const effects = await world.query<{ consumer: string; event: string; order: string }>(
    'SELECT consumer, event, "paymentId" AS "order" FROM effect ORDER BY id',
  );
  const written = effects.map(({ consumer, event }) => `${consumer} ${event}`);
  expect([...written].sort()).toEqual(done.filter((key) => !listened.includes(key)).sort());
  const eventOf = new Map(events.map((event) => [event.id, event]));
  const latest = new Map<string, number>();
  const replayed = new Set(
    deliveries.filter(({ replays }) => replays > 0).map(({ consumer, eventId }) => `${consumer} ${eventId}`),
  );
  for (const { consumer, event, order } of effects) {
    const { seq, billId } = eventOf.get(event)!;
    const line = `${consumer} of bill ${billId}`;
    const before = latest.get(line) ?? 0;
    if (seq < before && !replayed.has(`${consumer} ${event}`))
      throw new Error(`Out of order: ${line}, event ${seq} after ${before}.`);
    expect([line, seq, order]).toEqual([line, seq, seq < before ? 'late' : 'in order']);
    latest.set(line, Math.max(seq, before));
  }
}

/** Operators' actions took effect once and are recorded; there were no others. */
async function expectOperated(model: Model, world: World, events: readonly EventRow[]): Promise<void> {
  const { bills, reviews } = await world.ledger();
  const accepted = events.filter(({ data }) => data.acceptedBy !== undefined);
  expect(accepted.map(({ data }) => `${data.paymentId!} by ${data.acceptedBy!}`).sort()).toEqual(
    [...model.accepted.keys()].map((id) => `${id} by ${OPERATOR}`).sort(),
  );
  const actions = await world.query<{ what: string }>(
    `SELECT concat(action, ' ', target) AS what FROM payment_acceptance.operator_action`,
  );
  // A delivery that was replayed alone names its bill.
  const named = actions.map(({ what }) => what.replace(/^replay [\da-f-]{36}$/, 'replay one'));
  expect(named.sort()).toEqual([...model.actions].sort());
  const done = new Set(model.actions);
  const decided = ({ id }: { id: string }) =>
    done.has(`accept-review ${id}`) ? 'ACCEPTED' : done.has(`dismiss-review ${id}`) ? 'DISMISSED' : 'OPEN';
  expect(reviews.map(({ id, state }) => `${id} ${state}`)).toEqual(reviews.map((row) => `${row.id} ${decided(row)}`));
  const voided = bills.filter(({ state }) => state === 'VOIDED').map(({ intentId }) => `void-bill ${intentId}`);
  expect(voided.sort()).toEqual(model.actions.filter((action) => action.startsWith('void-bill')).sort());
}

async function expectNothingLeft(model: Model, world: World): Promise<void> {
  const { bills, callbacks } = await world.ledger();
  // A postback that names no bill of its shop waits for thirty days, in which the service is asked for it.
  const known = new Set(bills.map(({ shop, billId }) => `${shop} ${billId}`));
  const namesNone = ({ kind, shop, trsId }: (typeof callbacks)[number]): boolean =>
    kind === 'postback' && trsId !== null && !known.has(`${shop} ${trsId}`);
  expect(callbacks.filter((callback) => callback.pending && !namesNone(callback))).toEqual([]);
  const redirects = callbacks.filter(({ kind }) => kind.startsWith('redirect')).length;
  expect(redirects).toBe(world.acknowledged.redirect);
  // Beside one that names no bill, or instead of it where too many wait, `custom` may have asked for a check of ours, in a row
  // without a TrsId.
  const postbacks = callbacks.filter(({ kind }) => kind === 'postback');
  const named = postbacks.filter(({ trsId }) => trsId !== null);
  const mayBeFull = ['main', 'eu'].some((shop) => named.filter((each) => each.shop === shop).length >= MAX_UNMATCHED);
  const unnamed = world.postbacksTaken(model) - named.length;
  expect(unnamed).toBeGreaterThanOrEqual(0);
  expect(unnamed).toBeLessThanOrEqual(mayBeFull ? postbacks.length - named.length : 0);
  const leased = await world.query(
    `SELECT intent_id::text FROM payment_acceptance.bill WHERE lease_token IS NOT NULL OR lease_until IS NOT NULL
     UNION ALL SELECT id::text FROM payment_acceptance.delivery WHERE lease_token IS NOT NULL OR lease_until IS NOT NULL`,
  );
  expect(leased).toEqual([]);
}
