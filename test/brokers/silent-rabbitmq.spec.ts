import { describe, expect, test } from '@jest/globals';
import { PaymentRabbitMqModule } from 'nestjs-payment-acceptance/rabbitmq';
import { closing } from '../support/closing.js';
import { startHarness } from '../support/harness.js';
import { until } from '../support/until.js';
import { ShortPauses, deliveriesTo, passing, pay } from './support/paid-orders.js';
import { startTroubledRabbitMq, type Trouble } from './support/troubled-rabbitmq.js';

describe('silent RabbitMQ', () => {
  const closeLater = closing();

  describe('a broker that does not acknowledge', () => {
    async function startBeside(trouble: Trouble) {
      const broker = await startTroubledRabbitMq(trouble);
      closeLater(() => broker.close());
      const rabbit = PaymentRabbitMqModule.register({
        url: broker.url,
        exchange: 'payments',
        // A broker that refuses is given the time to say so.
        acknowledgeTimeoutMs: trouble.startsWith('rejected') ? 5_000 : 20,
      });
      const harness = await startHarness({
        random: new ShortPauses(),
        imports: [rabbit],
        options: { deliveries: { maxAttempts: 2 } },
      });
      closeLater(() => harness.close());
      return { broker, harness };
    }

    test.each<[Trouble, number, string]>([
      ['blocked', 1, 'The broker did not acknowledge an event in time.'],
      ['silent', 3, 'The broker did not acknowledge an event in time.'],
      ['lost', 3, 'channel closed'],
    ])(
      'a RabbitMQ that does not acknowledge costs no attempt, however long it lasts: %s',
      async (trouble, tries, reason) => {
        const { broker, harness } = await startBeside(trouble);
        await pay(harness, 1);
        await until(
          passing(harness, () => broker.count.published),
          (published) => published >= tries,
        );
        for (let more = 0; more < 5; more += 1) await passing(harness, () => undefined)();
        const lastError: unknown = expect.stringContaining(reason);
        expect(await deliveriesTo(harness, 'rabbitmq')).toMatchObject([{ state: 'PENDING', attempts: 0, lastError }]);
        // A broker that announces when it resumes is left alone until then.
        if (trouble === 'blocked') expect(broker.count).toEqual({ connections: 1, published: 1 });

        broker.end();
        const only = async () => (await deliveriesTo(harness, 'rabbitmq'))[0]!;
        await until(passing(harness, only), ({ state }) => state === 'DONE');
        expect(await only()).toMatchObject({ attempts: 1, lastError: null });
      },
    );

    test('an event for which RabbitMQ closes the channel costs those in flight beside it no attempt', async () => {
      const { harness } = await startBeside('rejected once');
      await pay(harness, 3);
      const all = () => deliveriesTo(harness, 'rabbitmq');
      await until(passing(harness, all), (deliveries) => deliveries.every(({ state }) => state === 'DONE'));
      expect((await all()).map(({ attempts }) => attempts)).toEqual([1, 1, 1]);
    });

    test('an event for which RabbitMQ closes the channel is refused, which counts as an attempt', async () => {
      const { broker, harness } = await startBeside('rejected');
      await pay(harness, 1);
      const only = async () => (await deliveriesTo(harness, 'rabbitmq'))[0]!;
      await until(passing(harness, only), ({ state }) => state === 'DEAD');
      expect(await only()).toMatchObject({ attempts: 2 });
      expect(broker.count.published).toBe(2);
    });
  });
});
