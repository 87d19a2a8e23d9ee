import { expect } from '@jest/globals';
import type { PaymentLedger } from 'nestjs-payment-acceptance/operations';
import { CONSUMERS } from './desk.js';
import { RANK, dueOf, type Model, type ServiceBill } from './truth.js';
import { DAY, MAX_ATTEMPTS, OPERATOR, SECOND, type World } from './world.js';

interface EventRow {
  readonly id: string;
  readonly seq: number;
  readonly name: string;
  readonly shop: string;
  readonly billId: string;
  /** The same for all events of one settlement. */
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

/** A payment at the service, with what it must have led to. */
type TruePayment = ReturnType<typeof dueOf> & {
  readonly bill: ServiceBill;
  readonly payment: ServiceBill['payments'][number];
};

/** Ends all faults, lets time pass, and checks that everything has been settled and delivered correctly. */
export async function settleAndCheck(model: Model, world: World): Promise<void> {
  await world.sandbox.clearFaults();
  world.desk.heal();
  if (!world.hostsBooks()) await world.restart(0, true);
  await answerHints(model, world);
  // Beyond the lifetime of every bill, so that the schedule finds what no hint has announced.
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

async function expectLedger(model: Model, world: World, events: readonly EventRow[]): Promise<void> {
  const ledger = await world.ledger();
  const bills = model.bills.map(({ billId }) => world.bill(billId));
  const truth = bills.flatMap((bill) =>
    bill.payments.map((payment) => ({ bill, payment, ...dueOf(model, bill, payment) })),
  );
  expect(ledger.bills.flatMap(({ billId }) => billId ?? []).sort()).toEqual(bills.map(({ id }) => id).sort());
  expect(ledger.payments.map((p) => [p.paymentId, p.billId, p.status, p.amount, p.currency].join(' ')).sort()).toEqual(
    truth.map(({ payment: p }) => [p.id, p.billId, p.status, p.amount, p.currency].join(' ')).sort(),
  );
  expectStates(bills, truth, ledger);
  expectOutcomes(truth, events);
  expectExpirations(events, ledger);
  expectReviews(model, world, truth, events, ledger);
}

function expectStates(bills: readonly ServiceBill[], truth: readonly TruePayment[], ledger: PaymentLedger): void {
  for (const bill of bills) {
    const accepted = succeededOf(truth).some(({ bill: of, event }) => of === bill && event);
    const running = bill.payments.some(({ status }) => status === 'NEW' || status === 'PROCESS');
    const { state } = ledger.bills.find(({ billId }) => billId === bill.id)!;
    // An expired bill stays expired when a payment begins late.
    expect(accepted ? ['PAID'] : running ? ['OPEN', 'EXPIRED'] : ['EXPIRED']).toContain(state);
  }
}

/** Each payment has the events of its outcomes, once each, a failure before a success of the same settlement. */
function expectOutcomes(truth: readonly TruePayment[], events: readonly EventRow[]): void {
  const successes = named(events, 'payment.succeeded');
  const failures = named(events, 'payment.failed');
  const due = succeededOf(truth).filter(({ event }) => event);
  expect(successes.map(({ data }) => data.paymentId!).sort()).toEqual(due.map(({ payment }) => payment.id).sort());
  const failed = failures.map(({ data }) => data.paymentId!);
  expect(new Set(failed).size).toBe(failed.length);
  const everFailed = truth.filter(({ payment }) => payment.history.some(({ status }) => status === 'FAIL'));
  expect(everFailed.map(({ payment }) => payment.id)).toEqual(expect.arrayContaining(failed));
  const ended = truth.filter(({ payment }) => payment.status === 'FAIL').map(({ payment }) => payment.id);
  expect(failed).toEqual(expect.arrayContaining(ended));
  for (const { seq, billId, at } of failures) {
    const together = successes.filter((event) => event.billId === billId && event.at === at);
    expect(together.filter((event) => event.seq < seq)).toEqual([]);
  }
}

function expectExpirations(events: readonly EventRow[], { bills }: PaymentLedger): void {
  const expired = named(events, 'bill.expired').map(({ billId }) => billId);
  expect(new Set(expired).size).toBe(expired.length);
  expect(expired).toEqual(
    expect.arrayContaining(bills.filter(({ state }) => state === 'EXPIRED').map(({ billId }) => billId)),
  );
}

function expectReviews(
  model: Model,
  world: World,
  truth: readonly TruePayment[],
  events: readonly EventRow[],
  { reviews }: PaymentLedger,
): void {
  const seconds = named(events, 'payment.succeeded').filter(({ data }) => data.firstForOrder === false);
  const due = [
    ...succeededOf(truth).flatMap(({ payment, review }) => (review === null ? [] : [`${review} ${payment.id}`])),
    ...seconds.map(({ data }) => `second-payment ${data.paymentId!}`),
  ];
  // There may be more: after refusals of the service, and where its list lags behind what an operator knew.
  const mayBe = Array.from(model.afterFailure, (id) => `payment-changed ${id}`);
  const aboutMoney = reviews
    .filter(
      ({ reason, billId }) =>
        !(reason === 'too-many-payments' && world.refusedToList(billId)) && !(reason === 'uncheckable' && world.faulty),
    )
    .map(({ reason, paymentId }) => `${reason} ${paymentId ?? '-'}`);
  const certain = (review: string) => !mayBe.includes(review);
  expect(aboutMoney.filter(certain).sort()).toEqual(due.filter(certain).sort());
  const announced = named(events, 'payment.review').map(({ data }) => data.reviewId);
  expect(announced.sort()).toEqual(reviews.map(({ id }) => id).sort());
}

function succeededOf(truth: readonly TruePayment[]): TruePayment[] {
  return truth.filter(({ payment }) => payment.status === 'SUCCESS');
}

function named(events: readonly EventRow[], name: string): EventRow[] {
  return events.filter((event) => event.name === name);
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
  // A postback that names no bill of its shop waits for thirty days, in which the service is asked for it.
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
