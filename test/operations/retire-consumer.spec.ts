import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentHealthIndicator, PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { commandsOf, type Commands } from '../support/commands.js';
import { startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';

describe('a consumer that a release has removed', () => {
  let harness: Harness;
  let commands: Commands;
  const sql = (text: string) => harness.host.dataSource.query(text);
  const hostedAt = (instant: string) =>
    sql(`UPDATE payment_acceptance.consumer SET last_seen_at = '${instant}' WHERE name = 'gone'`);
  const ofGone = async () =>
    ((await sql(`SELECT state FROM payment_acceptance.delivery WHERE consumer = 'gone'`)) as { state: string }[]).map(
      ({ state }) => state,
    );
  const pay = async (orderId: string) => {
    await harness.sandbox.pay((await harness.host.payments.createBill({ orderId, amount: '10' })).billId);
    await harness.settle();
  };
  const retire = (...more: string[]) => commands.command('retire-consumer', '--consumer', 'gone', ...more);

  beforeAll(async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    commands = commandsOf(harness);
    await sql(
      `INSERT INTO payment_acceptance.consumer (name, event_name, shops, last_seen_at)
       VALUES ('gone', 'payment.succeeded', NULL, '2020-01-01')`,
    );
    for (const order of ['a', 'b', 'c']) await pay(order);
    await sql(
      `UPDATE payment_acceptance.delivery SET state = 'DEAD', ended_at = due_at
       WHERE consumer = 'gone' AND seq = (SELECT seq FROM (SELECT min(seq) AS seq FROM payment_acceptance.event) first)`,
    );
  });
  afterAll(async () => {
    commands.close();
    await harness.close();
  });

  test('a removed consumer keeps its deliveries, which health shows', async () => {
    expect((await ofGone()).sort()).toEqual(['DEAD', 'PENDING', 'PENDING']);
    const { payments } = await harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    expect(payments.backlog?.pendingDeliveries).toBe(2);
  });

  test('a consumer is not retired while an instance may host it, nor without a name', async () => {
    await hostedAt('2100-01-01');
    expect(await retire()).toMatchObject({ code: 1, err: expect.stringContaining('within the last hour') });
    await hostedAt('2020-01-01');
    expect(await retire('--operator', ' ')).toMatchObject({ code: 2, err: expect.stringContaining('--operator') });
    expect((await commands.command('retire-consumer')).code).toBe(2);
    const one = harness.host.app.get(PaymentOperations).forShop('main');
    await expect(one.retireConsumer('gone', { operator: 'ann' })).rejects.toThrow('There is no consumer "gone"');
    const all = harness.host.app.get(PaymentOperations);
    await expect(all.retireConsumer('gone', { operator: '' })).rejects.toThrow('who is doing this');
    expect(await ofGone()).toHaveLength(3);
  });

  test('a consumer is retired event by event, except those that an instance hosts', async () => {
    await sql(
      `INSERT INTO payment_acceptance.consumer (name, event_name, shops, last_seen_at)
       VALUES ('gone', 'payment.failed', NULL, '2020-01-01')`,
    );
    await sql(
      `UPDATE payment_acceptance.consumer SET last_seen_at = '2100-01-01' WHERE event_name = 'payment.succeeded'`,
    );
    expect(await retire()).toMatchObject({ code: 0, out: expect.stringContaining('0 deliveries') });
    expect(await retire()).toMatchObject({ code: 1, err: expect.stringContaining('within the last hour') });
    expect(await ofGone()).toHaveLength(3);
    await hostedAt('2020-01-01');
  });

  test('retiring a consumer leaves a delivery that is being handled alone', async () => {
    const lease = (until: string) =>
      sql(
        `UPDATE payment_acceptance.delivery SET lease_until = ${until} WHERE consumer = 'gone' AND state = 'PENDING'`,
      );
    await lease(`'2100-01-01'`);
    const operations = harness.host.app.get(PaymentOperations);
    expect(await operations.retireConsumer('gone', { operator: 'ben' })).toBe(1); // the dead letter
    expect(await ofGone()).toEqual(['PENDING', 'PENDING']);
    await lease('NULL');
  });

  test('retiring a consumer ends its open deliveries, on record, and it gets no more', async () => {
    expect(await commands.json('retire-consumer', '--consumer', 'gone', '--operator', 'ann')).toEqual({
      code: 0,
      document: { consumer: 'gone', removed: 2 },
    });
    await pay('d');
    expect(await ofGone()).toEqual([]);
    const recorded: unknown = await sql(`SELECT operator, action, target FROM payment_acceptance.operator_action`);
    expect(recorded).toContainEqual({ operator: 'ann', action: 'retire-consumer', target: 'gone' });
    expect(await retire()).toMatchObject({ code: 1, err: expect.stringContaining('There is no consumer "gone".') });
    expect((await harness.effects()).map(({ orderId }) => orderId).sort()).toEqual(['a', 'b', 'c', 'd']);
  });
});
