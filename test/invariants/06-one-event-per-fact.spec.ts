import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startHarness, type Harness } from '../support/harness.js';
import { onPostgres } from '../support/database.js';
import { holdUp } from '../support/hold-up.js';
import { postJson, postbackFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;

describe('invariant 6: one event per fact', () => {
  beforeAll(async () => {
    harness = await startHarness({
      providers: [EffectWriter],
      instances: 2,
      options: { callbacks: { maxPerBill: 1_000 } },
    });
  });
  afterAll(() => harness.close());

  /** Of each success of an order whether it was the first. */
  const firstsOf = async (orderId: string): Promise<boolean[]> => {
    const rows: { first: boolean }[] = await harness.host.dataSource.query(
      `SELECT (payload ->> 'firstForOrder')::boolean AS first FROM payment_acceptance.event
     WHERE name = 'payment.succeeded' AND payload ->> 'orderId' = $1 ORDER BY 1`,
      [orderId],
    );
    return rows.map(({ first }) => first);
  };

  test('two hundred copies of a postback at two instances at once make one event and one effect', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'copies', amount: '10' });
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    const { payment } = await harness.sandbox.pay(billId);
    await harness.sandbox.clearFaults();
    const body = postbackFields({ InvId: 'copies', OutSum: '10.00', TrsId: billId });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, copy) => postJson(`${harness.instances[copy % 2]!.url}/postback/payment`, body)),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    await Promise.all(harness.instances.map(({ confirmer }) => confirmer.runOnce()));
    await Promise.all(harness.instances.map(({ deliveries }) => deliveries.runOnce()));
    // Only one of them can be about the payment; the others are asked about as if the list lagged.
    for (const pauseMs of [0, 3_000, 10_000, 30_000]) {
      harness.clock.advance(pauseMs);
      await harness.settle();
    }
    const { events, callbacks } = await harness.host.ledger();
    expect(callbacks.length).toBe(200);
    expect(callbacks.filter(({ pending }) => pending)).toEqual([]);
    expect(events).toMatchObject([{ name: 'payment.succeeded', paymentId: payment.id }]);
    expect(await harness.effects()).toMatchObject([{ paymentId: payment.id }]);
  });

  test('of two attempts of one order paid and settled at the same moment, only one is the first payment', async () => {
    const first = await harness.host.payments.createBill({ orderId: 'both', amount: '10' });
    const second = await harness.host.payments.createBill({ orderId: 'both', amount: '10' }, { newAttempt: true });
    await harness.sandbox.pay(first.billId);
    await harness.sandbox.pay(second.billId);
    await harness.sandbox.settled();
    await Promise.all(harness.instances.map(({ confirmer }) => confirmer.runOnce()));
    await harness.settle();
    const { events, reviews } = await harness.host.ledger();
    expect(events.filter(({ orderId }) => orderId === 'both').map(({ name }) => name)).toEqual(
      expect.arrayContaining(['payment.succeeded', 'payment.succeeded', 'payment.review']),
    );
    expect(reviews).toMatchObject([{ orderId: 'both', reason: 'second-payment' }]);
    expect(await firstsOf('both')).toEqual([false, true]);
  });

  onPostgres(test)(
    'of two attempts settled by two instances, one of them held up, only one is the first payment',
    async () => {
      const { payments, dataSource } = harness.host;
      const order = { orderId: 'held-up', amount: '10' };
      const bills = [await payments.createBill(order), await payments.createBill(order, { newAttempt: true })];
      const held = await holdUp(dataSource, 'event');
      const settling: Promise<number>[] = [];
      for (const [index, { billId }] of bills.entries()) {
        await harness.sandbox.pay(billId);
        await harness.sandbox.settled();
        settling.push(harness.instances[index]!.confirmer.runOnce());
        await held.reached(settling.length);
      }
      await held.letGo();
      expect(await Promise.all(settling)).toEqual([1, 1]);
      expect(await firstsOf('held-up')).toEqual([false, true]);
      await harness.settle();
    },
  );

  test('repeated checks of a settled bill emit no event', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'settled', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    const before = (await harness.host.ledger()).events;
    const asked = harness.sandbox.requests.length;
    harness.clock.advance(6 * 3_600_000 + 60_000);
    await harness.settle();
    expect(harness.sandbox.requests.length).toBeGreaterThan(asked);
    expect(before.length).toBeGreaterThan(0);
    expect((await harness.host.ledger()).events).toEqual(before);
    expect(new Set(before.map(({ id }) => id)).size).toBe(before.length);
  });
});
