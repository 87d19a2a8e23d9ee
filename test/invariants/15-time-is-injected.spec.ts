import { afterEach, describe, expect, test } from '@jest/globals';
import { PaymentRandom } from 'nestjs-payment-acceptance/testing';
import { startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let harness: Harness;

const checks = (billId: string) =>
  harness.sandbox.requests.filter((request) => request.operation === 'payments' && request.billId === billId).length;

describe('invariant 15: time, randomness and the network are injected', () => {
  afterEach(() => harness.close());

  test('a bill without callbacks is checked after 1, 2, 5, 15 minutes and so on, and settles', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    const { billId } = await harness.host.payments.createBill({ orderId: 'silent', amount: '10' });
    const seen: number[] = [];
    for (let minute = 0; minute < 90; minute += 1) {
      const before = checks(billId);
      await harness.settle();
      if (checks(billId) > before) seen.push(minute);
      harness.clock.advance(MINUTE);
    }
    expect(seen).toEqual([1, 3, 8, 23, 83]);
    await harness.sandbox.pay(billId);
    harness.clock.advance(3 * 60 * MINUTE);
    await harness.settle();
    expect(await harness.effects()).toMatchObject([{ orderId: 'silent', event: 'payment.succeeded' }]);
  });

  test('an unpaid bill expires, unless a payment of it is in progress or under review; a late one is found', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    const idle = await harness.host.payments.createBill({ orderId: 'idle', amount: '10' });
    const running = await harness.host.payments.createBill({ orderId: 'running', amount: '10' });
    await harness.sandbox.pay(running.billId, { card: '4000 0000 0000 3220' });
    const underpaid = await harness.host.payments.createBill({ orderId: 'underpaid', amount: '10' });
    await harness.sandbox.pay(underpaid.billId, { amount: '9.99' });
    harness.clock.advance(3 * DAY + 15 * MINUTE);
    await harness.settle();
    const stateOf = async (orderId: string) =>
      (await harness.host.ledger()).bills.find((bill) => bill.orderId === orderId)?.state;
    const states = await Promise.all(['idle', 'running', 'underpaid'].map(stateOf));
    expect(states).toEqual(['EXPIRED', 'OPEN', 'OPEN']);
    expect((await harness.host.ledger()).events.map(({ name, orderId }) => [name, orderId]).sort()).toEqual([
      ['bill.expired', 'idle'],
      ['payment.review', 'underpaid'],
    ]);
    // Most of its price is paid: a second bill would take all of it again.
    const again = await harness.host.payments.createBill({ orderId: 'underpaid', amount: '10' });
    expect(again.billId).toBe(underpaid.billId);
    await harness.sandbox.pay(idle.billId);
    harness.clock.advance(DAY);
    await harness.settle();
    expect(await stateOf('idle')).toBe('PAID');
  });

  test('any number of hints keep the minimum gap between checks, and do not move the schedule', async () => {
    harness = await startHarness();
    const { billId } = await harness.host.payments.createBill({ orderId: 'hinted', amount: '10' });
    const { nextCheckAt } = (await harness.host.ledger()).bills[0]!;
    for (let hint = 0; hint < 5; hint += 1) {
      await harness.sandbox.forge(billId);
      await harness.settle();
    }
    expect(checks(billId)).toBe(1);
    harness.clock.advance(2_000);
    await harness.settle();
    expect(checks(billId)).toBe(2);
    expect((await harness.host.ledger()).bills[0]!.nextCheckAt).toBe(nextCheckAt);
  });

  test('pauses between checks are spread by the injected randomness, up to jitterPercent', async () => {
    const fractions = [0, 0.5];
    harness = await startHarness({
      options: { schedule: { jitterPercent: 20 } },
      prepare: (app) => Object.assign(app.get(PaymentRandom), { fraction: () => fractions.shift() ?? 0 }),
    });
    for (const orderId of ['early', 'late']) await harness.host.payments.createBill({ orderId, amount: '1' });
    harness.clock.advance(MINUTE + 1_000);
    expect(await harness.host.confirmer.runOnce()).toBe(1);
    harness.clock.advance(6_000);
    expect(await harness.host.confirmer.runOnce()).toBe(1);
  });

  test('ids of intents come from the injected randomness', async () => {
    let next = 0;
    const random = {
      uuid: () => `00000000-0000-4000-8000-${String((next += 1)).padStart(12, '0')}`,
      fraction: () => 0,
    };
    harness = await startHarness({ prepare: (app) => Object.assign(app.get(PaymentRandom), random) });
    const { intentId } = await harness.host.payments.createBill({ orderId: 'random', amount: '1' });
    expect(intentId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7000-8000-0{11}1$/);
  });
});
