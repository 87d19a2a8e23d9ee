import { expect, test } from '@jest/globals';
import type { DynamicModule } from '@nestjs/common';
import type { NestContainer } from '@nestjs/core';
import { PaymentRabbitMqModule, type PaymentRabbitMqOptions } from 'nestjs-payment-acceptance/rabbitmq';
import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { closing } from '../support/closing.js';
import { startHarness, type Harness } from '../support/harness.js';
import { eventually } from './support/outage.js';
import { pay } from './support/pay.js';
import { onChannel, readingOf } from './support/rabbitmq.js';
import { describeOn, service } from './support/service.js';

const closeLater = closing();

describeOn(await service('TEST_RABBITMQ_URL'), (url) => {
  const newName = (): string => {
    const name = `payments-test-${randomBytes(6).toString('hex')}`;
    closeLater(() =>
      onChannel(url, async (channel) => {
        await channel.deleteQueue(name);
        await channel.deleteExchange(name);
      }),
    );
    return name;
  };

  async function startHost(options: Partial<PaymentRabbitMqOptions> & { exchange: string }): Promise<Harness> {
    const imports: DynamicModule[] = [PaymentRabbitMqModule.register({ url, ...options })];
    const harness = await startHarness({ imports });
    closeLater(() => harness.close());
    return harness;
  }

  const deliveryOf = async (harness: Harness) => (await harness.host.ledger()).events[0]!.deliveries[0]!;

  test('RabbitMQ messages are persistent and self-describing', async () => {
    const name = newName();
    const routingKey: PaymentRabbitMqOptions['routingKey'] = ({ data }) => `of.${data.shop}`;
    await onChannel(url, async (channel) => {
      await channel.assertExchange(name, 'topic');
      await channel.assertQueue(name);
      await channel.bindQueue(name, name, 'of.main');
    });
    const harness = await startHost({ exchange: name, routingKey });
    await pay(harness);
    const message = await onChannel(url, (channel) => channel.get(name, { noAck: true }));
    if (!message) throw new Error('There is no message.');
    const { event } = readingOf(message);
    expect(message.fields.routingKey).toBe('of.main');
    expect(message.properties).toMatchObject({
      deliveryMode: 2,
      messageId: event.id,
      type: 'payment.succeeded',
      contentType: 'application/cloudevents+json; charset=utf-8',
      timestamp: Math.floor(Date.parse(event.time) / 1000),
    });
  });

  test('a RabbitMQ message without a queue counts as delivered only once a queue is bound', async () => {
    const name = newName();
    await onChannel(url, (channel) => channel.assertExchange(name, 'topic'));
    const harness = await startHost({ exchange: name });
    await pay(harness);
    const { state, lastError } = await deliveryOf(harness);
    expect(state).toBe('PENDING');
    expect(lastError).toContain(
      `No queue bound to the exchange "${name}" matches the routing key "payment.succeeded.main" (NO_ROUTE).`,
    );

    await onChannel(url, async (channel) => {
      await channel.assertQueue(name);
      await channel.bindQueue(name, name, 'payment.#');
    });
    harness.clock.advance(60_000);
    await harness.settle();
    expect(await deliveryOf(harness)).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await onChannel(url, (channel) => channel.checkQueue(name))).toMatchObject({ messageCount: 1 });
  });

  test('a RabbitMQ message that the broker does not confirm is sent again', async () => {
    const name = newName();
    await onChannel(url, async (channel) => {
      await channel.assertExchange(name, 'topic');
      await channel.assertQueue(name, { arguments: { 'x-max-length': 1, 'x-overflow': 'reject-publish' } });
      await channel.bindQueue(name, name, '#');
    });
    const harness = await startHost({ exchange: name });
    await pay(harness, 'first');
    await pay(harness, 'second');
    expect((await deliveryOf(harness)).lastError).toContain('RabbitMQ did not confirm the event');
    await onChannel(url, (channel) => channel.purgeQueue(name));
    harness.clock.advance(60_000);
    await harness.settle();
    expect(await deliveryOf(harness)).toMatchObject({ state: 'DONE', attempts: 2 });
  });

  test('events wait while the RabbitMQ exchange does not exist, even if it is deleted later', async () => {
    const name = newName();
    const make = () =>
      onChannel(url, async (channel) => {
        await channel.assertExchange(name, 'topic');
        await channel.assertQueue(name);
        await channel.bindQueue(name, name, '#');
      });
    const harness = await startHost({ exchange: name });
    await pay(harness, 'before');
    expect(await deliveryOf(harness)).toMatchObject({ state: 'PENDING', attempts: 0 });
    await make();
    const goesOut = () =>
      eventually(
        () => harness.host.deliveries.runOnce(),
        (done) => done > 0,
        'the event goes out',
      );
    await goesOut();
    expect(await deliveryOf(harness)).toMatchObject({ state: 'DONE' });

    await onChannel(url, (channel) => channel.deleteExchange(name));
    await pay(harness, 'meanwhile');
    expect((await deliveryOf(harness)).state).toBe('PENDING');
    await make();
    harness.clock.advance(60_000);
    await goesOut();
    expect(await deliveryOf(harness)).toMatchObject({ state: 'DONE' });
  });

  test('printing the application does not show the password of the broker', async () => {
    const wrong = new URL(url);
    wrong.password = 'a-password-of-nobody';
    const harness = await startHost({ exchange: newName(), url: wrong.href });
    await pay(harness);
    const printed = [
      ...(harness.host.app as unknown as { container: NestContainer }).container.getModules().values(),
    ].map(({ providers }) =>
      inspect(
        [...providers.values()].map(({ instance }): unknown => instance),
        { depth: 6 },
      ),
    );
    expect(printed.join()).toContain('BrokerConsumer');
    expect(printed.join() + JSON.stringify(await harness.host.ledger())).not.toContain('a-password-of-nobody');
  });
});
