import { expect } from '@jest/globals';
import type { Harness } from '../../support/harness.js';
import type { Bus } from './bus.js';

/** Polls until the answer fits; fails after a minute. */
export async function eventually<T>(ask: () => Promise<T>, fits: (answer: T) => boolean, what: string): Promise<T> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const answer = await ask().catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    if (!(answer instanceof Error) && fits(answer)) return answer;
    if (Date.now() > deadline)
      throw new Error(`Not within a minute: ${what}. The last answer: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const distinct = (ids: readonly string[]): number => new Set(ids).size;

/**
 * Makes a failed and a successful payment for each of these orders, several at once. Runs `disturb` after a third of them,
 * while the others are being paid. Then all events must arrive, those of each bill in order.
 */
export async function payThrough(harness: Harness, bus: Bus, orders: number, disturb: () => Promise<void>) {
  const ids = Array.from({ length: orders }, (_, index) => `order-${index}`);
  let disturbance: Promise<void> | undefined;
  let paid = 0;
  const pay = async (orderId: string): Promise<void> => {
    const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
    paid += 1;
    if (paid === Math.ceil(orders / 3)) disturbance = disturb();
  };
  const lane = async (): Promise<void> => {
    for (let order = ids.shift(); order !== undefined; order = ids.shift()) await pay(order);
  };
  await Promise.all(Array.from({ length: 4 }, lane));
  await disturbance;

  const received = await eventually(
    () => bus.received(),
    (messages) => distinct(messages.map(({ event }) => event.id)) === orders * 2,
    `all ${orders * 2} events arrive`,
  );
  await eventually(
    async () => (await harness.host.ledger()).events.flatMap(({ deliveries }) => deliveries.map(({ state }) => state)),
    (states) => states.length === orders * 2 && states.every((state) => state === 'DONE'),
    'all deliveries are done',
  );
  const { events } = await harness.host.ledger();
  const messages = await bus.received();
  expect(new Set(messages.map(({ event }) => event.id))).toEqual(new Set(events.map(({ id }) => id)));
  const firsts = [...new Map(messages.toReversed().map(({ event }) => [event.id, event])).values()].toReversed();
  for (const { billId } of (await harness.host.ledger()).bills) {
    const ofBill = firsts.filter(({ data }) => data.billId === billId);
    expect(ofBill.map(({ type }) => type)).toEqual(['payment.failed', 'payment.succeeded']);
  }
  return { received, messages };
}
