import { expect } from '@jest/globals';
import { CONSUMERS } from './desk.js';
import { RANK, dueOf, type Model } from './truth.js';
import { DAY, MAX_ATTEMPTS, OPERATOR, SECOND, type World } from './world.js';

interface EventRow {
  readonly id: string;
  readonly seq: number;
  readonly name: string;
  readonly shop: string;
  readonly billId: string;
  /** Of one settlement, the same. */
  readonly at: string;
  readonly data: {
    readonly paymentId?: string;
    readonly firstForOrder?: boolean;
    readonly reviewId?: string;
    readonly acceptedBy?: string;
  };
}

interface DeliveryRow {
  readonly eventId: string;
  readonly consumer: string;
  readonly state: string;
  readonly attempts: number;
  readonly replays: number;
}

/** The faults end, the handlers work, time passes; then everything must have come right. */
export async function settleAndCheck(model: Model, world: World): Promise<void> {
  await world.sandbox.clearFaults();
  world.desk.heal();
  if (!world.hostsBooks()) await world.restart(0, true);
  await answerHints(model, world);
  // Through the lifetime of every bill: what no hint told of is found by the schedule.
  await world.pass(4 * DAY);
  await world.untilQuiet();
  const events = await world.query<EventRow>(
    `SELECT e.id, e.seq::int AS seq, e.name, e.shop, b.service_bill_id AS "billId", e.payload AS data, e.occurred_at::text AS at
     FROM payment_acceptance.event e JOIN payment_acceptance.bill b ON b.id = e.bill_id ORDER BY e.seq`,
  );
  await expectLedger(model, world, events);
  await expectOrders(model, world, events);
  await expectDeliveries(world, events);
  await expectOperated(model, world, events);
  await expectNothingLeft(model, world);
}

/** What a callback has asked about is known soon, without waiting for the schedule. */
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

async function expectLedger(model: Model, world: World, events: readonly EventRow[]): Promise<void> {
  const { bills, payments, reviews } = await world.ledger();
  const known = model.bills.map(({ billId }) => world.bill(billId));
  const truth = known.flatMap((bill) =>
    bill.payments.map((payment) => ({ bill, payment, ...dueOf(model, bill, payment) })),
  );
  const paid = truth.filter(({ payment }) => payment.status === 'SUCCESS');

  expect(bills.flatMap(({ billId }) => billId ?? []).sort()).toEqual(known.map(({ id }) => id).sort());
  expect(payments.map((p) => [p.paymentId, p.billId, p.status, p.amount, p.currency].join(' ')).sort()).toEqual(
    truth.map(({ payment: p }) => [p.id, p.billId, p.status, p.amount, p.currency].join(' ')).sort(),
  );
  for (const bill of known) {
    const accepted = paid.some(({ bill: of, event }) => of === bill && event);
    const running = bill.payments.some(({ status }) => status === 'NEW' || status === 'PROCESS');
    const { state } = bills.find(({ billId }) => billId === bill.id)!;
    // A bill that has expired stays so when a payment begins late.
    expect(accepted ? ['PAID'] : running ? ['OPEN', 'EXPIRED'] : ['EXPIRED']).toContain(state);
  }

  const of = (name: string) => events.filter((event) => event.name === name);
  const succeeded = of('payment.succeeded').map(({ data }) => data.paymentId!);
  expect([...succeeded].sort()).toEqual(
    paid
      .filter(({ event }) => event)
      .map(({ payment }) => payment.id)
      .sort(),
  );
  const failed = of('payment.failed').map(({ data }) => data.paymentId!);
  expect(new Set(failed).size).toBe(failed.length);
  const everFailed = truth.filter(({ payment }) => payment.history.some(({ status }) => status === 'FAIL'));
  expect(everFailed.map(({ payment }) => payment.id)).toEqual(expect.arrayContaining(failed));
  const ended = truth.filter(({ payment }) => payment.status === 'FAIL').map(({ payment }) => payment.id);
  expect(failed).toEqual(expect.arrayContaining(ended));
  for (const { seq, billId, at } of of('payment.failed')) {
    const before = of('payment.succeeded').filter((event) => event.billId === billId && event.at === at);
    expect(before.filter((event) => event.seq < seq)).toEqual([]);
  }
  const expired = of('bill.expired').map(({ billId }) => billId);
  expect(new Set(expired).size).toBe(expired.length);
  expect(expired).toEqual(
    expect.arrayContaining(bills.filter(({ state }) => state === 'EXPIRED').map(({ billId }) => billId)),
  );

  const seconds = of('payment.succeeded').filter(({ data }) => data.firstForOrder === false);
  const due = [
    ...paid.flatMap(({ payment, review }) => (review === null ? [] : [`${review} ${payment.id}`])),
    ...seconds.map(({ data }) => `second-payment ${data.paymentId!}`),
  ];
  // Where the service refused to answer, that too is for a person; so is a list that lags behind what a person knew.
  const mayBe = Array.from(model.afterFailure, (id) => `payment-changed ${id}`);
  const aboutMoney = reviews
    .filter(
      ({ reason, billId }) =>
        !(reason === 'too-many-payments' && world.refusedToList(billId)) && !(reason === 'uncheckable' && world.faulty),
    )
    .map(({ reason, paymentId }) => `${reason} ${paymentId ?? '-'}`);
  const certain = (review: string) => !mayBe.includes(review);
  expect(aboutMoney.filter(certain).sort()).toEqual(due.filter(certain).sort());
  expect(
    of('payment.review')
      .map(({ data }) => data.reviewId)
      .sort(),
  ).toEqual(reviews.map(({ id }) => id).sort());
}

/** An order has one first payment if any fits, and none otherwise. */
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

/** What people have done happened, once, and is on record; nothing else of the kind did. */
async function expectOperated(model: Model, world: World, events: readonly EventRow[]): Promise<void> {
  const { bills, reviews } = await world.ledger();
  const accepted = events.filter(({ data }) => data.acceptedBy !== undefined);
  expect(accepted.map(({ data }) => `${data.paymentId!} by ${data.acceptedBy!}`).sort()).toEqual(
    [...model.accepted.keys()].map((id) => `${id} by ${OPERATOR}`).sort(),
  );
  const actions = await world.query<{ what: string }>(
    `SELECT concat(action, ' ', target) AS what FROM payment_acceptance.operator_action`,
  );
  expect(actions.map(({ what }) => what).sort()).toEqual([...model.actions].sort());
  const done = new Set(model.actions);
  const decided = ({ id }: { id: string }) =>
    done.has(`accept-review ${id}`) ? 'ACCEPTED' : done.has(`dismiss-review ${id}`) ? 'DISMISSED' : 'OPEN';
  expect(reviews.map(({ id, state }) => `${id} ${state}`)).toEqual(reviews.map((row) => `${row.id} ${decided(row)}`));
  const voided = bills.filter(({ state }) => state === 'VOIDED').map(({ intentId }) => `void-bill ${intentId}`);
  expect(voided.sort()).toEqual(model.actions.filter((action) => action.startsWith('void-bill')).sort());
}

async function expectNothingLeft(model: Model, world: World): Promise<void> {
  const { bills, callbacks } = await world.ledger();
  // What names no bill of its shop waits for thirty days, in which the service is asked for it.
  const known = new Set(bills.map(({ shop, billId }) => `${shop} ${billId}`));
  const namesNone = ({ kind, shop, trsId }: (typeof callbacks)[number]): boolean =>
    kind === 'postback' && !known.has(`${shop} ${trsId}`);
  expect(callbacks.filter((callback) => callback.pending && !namesNone(callback))).toEqual([]);
  const count = (kind: string) => callbacks.filter((callback) => callback.kind.startsWith(kind)).length;
  expect([count('postback'), count('redirect')]).toEqual([world.postbacksTaken(model), world.acknowledged.redirect]);
  const leased = await world.query(
    `SELECT id::text FROM payment_acceptance.bill WHERE lease_token IS NOT NULL OR lease_until IS NOT NULL
     UNION ALL SELECT id::text FROM payment_acceptance.delivery WHERE lease_token IS NOT NULL OR lease_until IS NOT NULL`,
  );
  expect(leased).toEqual([]);
}
