import { expect, test } from '@jest/globals';
import { PaymentNatsModule } from 'nestjs-payment-acceptance/nats';
import { PaymentRabbitMqModule } from 'nestjs-payment-acceptance/rabbitmq';
import { randomBytes } from 'node:crypto';
import { Contract } from '../contract/support/contract.js';
import { FLOW_EVENTS, wholeFlow } from '../contract/support/whole-flow.js';
import { closing } from '../support/closing.js';
import { startHarness } from '../support/harness.js';
import { onServer } from './support/nats.js';
import { onChannel } from './support/rabbitmq.js';
import { describeOn, service } from './support/service.js';

const contract = new Contract();
const newName = (): string => `payments-test-${randomBytes(6).toString('hex')}`;

describeOn(await service('TEST_RABBITMQ_URL'), (url) => {
  const closeLater = closing();

  test('RabbitMQ messages match the AsyncAPI document, with properties, headers and routing keys', async () => {
    const name = newName();
    closeLater(() =>
      onChannel(url, async (channel) => {
        await channel.deleteQueue(name);
        await channel.deleteExchange(name);
      }),
    );
    await onChannel(url, async (channel) => {
      await channel.assertExchange(name, 'topic', { durable: true });
      await channel.assertQueue(name);
      await channel.bindQueue(name, name, '#');
    });
    const harness = await startHarness({ imports: [PaymentRabbitMqModule.register({ url, exchange: name })] });
    await wholeFlow(harness).finally(() => harness.close());
    const types: string[] = [];
    await onChannel(url, async (channel) => {
      for (let each = await channel.get(name); each; each = await channel.get(name)) {
        const message = JSON.parse(each.content.toString()) as { id: string; type: string; data: { shop: string } };
        const { headers, ...sent } = each.properties as unknown as Record<string, unknown>;
        const properties = {
          message_id: sent['messageId'],
          type: sent['type'],
          content_type: sent['contentType'],
          timestamp: sent['timestamp'],
          delivery_mode: sent['deliveryMode'],
        };
        const id = `rabbitmq.${message.type}`;
        expect(contract.flawsOfMessage(id, 'x-amqp-properties', properties)).toEqual([]);
        expect(contract.flawsOfMessage(id, 'headers', headers)).toEqual([]);
        expect(contract.flawsOfMessage(id, 'payload', message)).toEqual([]);
        expect(each.fields.routingKey).toBe(contract.addressOf(id, message.data.shop));
        expect(properties.message_id).toBe(message.id);
        types.push(message.type);
      }
    });
    expect(types.sort()).toEqual(FLOW_EVENTS);
  });
});

describeOn(await service('TEST_NATS_URL'), (url) => {
  const closeLater = closing();

  test('NATS messages match the AsyncAPI document, with headers and subjects', async () => {
    const name = newName();
    closeLater(() => onServer(url, (manager) => manager.streams.delete(name)));
    await onServer(url, (manager) => manager.streams.add({ name, subjects: [`${name}.>`] }));
    const subject = ({ type, data }: { type: string; data: { shop: string } }) => `${name}.${type}.${data.shop}`;
    const module = PaymentNatsModule.register({ servers: url, stream: name, subject });
    const harness = await startHarness({ imports: [module] });
    await wholeFlow(harness).finally(() => harness.close());
    const types: string[] = [];
    await onServer(url, async (manager) => {
      const { state } = await manager.streams.info(name);
      for (let seq = 1; seq <= state.last_seq; seq += 1) {
        const each = await manager.streams.getMessage(name, { seq });
        const message = each!.json<{ id: string; type: string; data: { shop: string } }>();
        const headers = Object.fromEntries(each!.header.keys().map((key) => [key, each!.header.get(key)]));
        const id = `nats.${message.type}`;
        expect(contract.flawsOfMessage(id, 'headers', headers)).toEqual([]);
        expect(contract.flawsOfMessage(id, 'payload', message)).toEqual([]);
        expect(each!.subject).toBe(`${name}.${contract.addressOf(id, message.data.shop)}`);
        expect(headers['Nats-Msg-Id']).toBe(`nats:${message.id}`);
        types.push(message.type);
      }
    });
    expect(types.sort()).toEqual(FLOW_EVENTS);
  });
});
