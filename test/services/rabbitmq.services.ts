import { expect, test } from '@jest/globals';
import type { DynamicModule } from '@nestjs/common';
import type { NestContainer } from '@nestjs/core';
import { PaymentRabbitMqModule, type PaymentRabbitMqOptions } from 'nestjs-payment-acceptance/rabbitmq';
import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { closing } from '../support/closing.js';
import { startBed, type Bed } from '../support/bed.js';
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

  async function startHost(options: Partial<PaymentRabbitMqOptions> & { exchange: string }): Promise<Bed> {
    const imports: DynamicModule[] = [PaymentRabbitMqModule.register({ url, ...options })];
    const bed = await startBed({ imports });
    closeLater(() => bed.close());
    return bed;
  }

  const deliveryOf = async (bed: Bed) => (await bed.host.ledger()).events[0]!.deliveries[0]!;

  test('messages are persistent, and say what they are', async () => {
    const name = newName();
    const routingKey: PaymentRabbitMqOptions['routingKey'] = ({ data }) => `of.${data.shop}`;
    await onChannel(url, async (channel) => {
      await channel.assertExchange(name, 'topic');
      await channel.assertQueue(name);
      await channel.bindQueue(name, name, 'of.main');
    });
    const bed = await startHost({ exchange: name, routingKey });
    await pay(bed);
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

  test('what no queue takes has not been delivered, until one is bound', async () => {
    const name = newName();
    await onChannel(url, (channel) => channel.assertExchange(name, 'topic'));
    const bed = await startHost({ exchange: name });
    await pay(bed);
    const { state, lastError } = await deliveryOf(bed);
    expect(state).toBe('PENDING');
    expect(lastError).toContain(`No queue takes "payment.succeeded.main" of the exchange "${name}" (NO_ROUTE).`);

    await onChannel(url, async (channel) => {
      await channel.assertQueue(name);
      await channel.bindQueue(name, name, 'payment.#');
    });
    bed.clock.advance(60_000);
    await bed.settle();
    expect(await deliveryOf(bed)).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await onChannel(url, (channel) => channel.checkQueue(name))).toMatchObject({ messageCount: 1 });
  });

  test('what the broker refuses to confirm is sent again', async () => {
    const name = newName();
    await onChannel(url, async (channel) => {
      await channel.assertExchange(name, 'topic');
      await channel.assertQueue(name, { arguments: { 'x-max-length': 1, 'x-overflow': 'reject-publish' } });
      await channel.bindQueue(name, name, '#');
    });
    const bed = await startHost({ exchange: name });
    await pay(bed, 'first');
    await pay(bed, 'second');
    expect((await deliveryOf(bed)).lastError).toContain('RabbitMQ has not confirmed the event');
    await onChannel(url, (channel) => channel.purgeQueue(name));
    bed.clock.advance(60_000);
    await bed.settle();
    expect(await deliveryOf(bed)).toMatchObject({ state: 'DONE', attempts: 2 });
  });

  test('an exchange that does not exist keeps the events waiting, also one that is deleted meanwhile', async () => {
    const name = newName();
    const make = () =>
      onChannel(url, async (channel) => {
        await channel.assertExchange(name, 'topic');
        await channel.assertQueue(name);
        await channel.bindQueue(name, name, '#');
      });
    const bed = await startHost({ exchange: name });
    await pay(bed, 'before');
    expect(await deliveryOf(bed)).toMatchObject({ state: 'PENDING', attempts: 0 });
    await make();
    const goesOut = () =>
      eventually(
        () => bed.host.deliveries.runOnce(),
        (done) => done > 0,
        'the event goes out',
      );
    await goesOut();
    expect(await deliveryOf(bed)).toMatchObject({ state: 'DONE' });

    await onChannel(url, (channel) => channel.deleteExchange(name));
    await pay(bed, 'meanwhile');
    expect((await deliveryOf(bed)).state).toBe('PENDING');
    await make();
    bed.clock.advance(60_000);
    await goesOut();
    expect(await deliveryOf(bed)).toMatchObject({ state: 'DONE' });
  });

  test('the password of its address is shown to nobody who prints the application', async () => {
    const wrong = new URL(url);
    wrong.password = 'a-password-of-nobody';
    const bed = await startHost({ exchange: newName(), url: wrong.href });
    await pay(bed);
    const printed = [...(bed.host.app as unknown as { container: NestContainer }).container.getModules().values()].map(
      ({ providers }) =>
        inspect(
          [...providers.values()].map(({ instance }): unknown => instance),
          { depth: 6 },
        ),
    );
    expect(printed.join()).toContain('BrokerConsumer');
    expect(printed.join() + JSON.stringify(await bed.host.ledger())).not.toContain('a-password-of-nobody');
  });
});
