import { connect, type Channel, type ConsumeMessage } from 'amqplib';
import { readPaymentEvent } from 'nestjs-payment-acceptance/inbox';
import { PaymentRabbitMqModule } from 'nestjs-payment-acceptance/rabbitmq';
import { randomBytes } from 'node:crypto';
import type { BrokerKind, Received } from './bus.js';

/** The same address with another port. */
export function through(url: string, port: number): string {
  const other = new URL(url);
  other.hostname = '127.0.0.1';
  other.port = String(port);
  return other.href;
}

/** Runs work on a new channel. */
export async function onChannel<T>(url: string, work: (channel: Channel) => Promise<T>): Promise<T> {
  const connection = await connect(url, { timeout: 5_000 });
  connection.on('error', () => undefined);
  try {
    const channel = await connection.createChannel();
    channel.on('error', () => undefined);
    return await work(channel);
  } finally {
    await connection.close().catch(() => undefined);
  }
}

/** A topic exchange with one durable queue for everything. */
export const rabbitMq: BrokerKind = {
  consumer: 'rabbitmq',
  deduplicates: false,
  async makeBus(url) {
    const name = `payments-test-${randomBytes(6).toString('hex')}`;
    await onChannel(url, async (channel) => {
      await channel.assertExchange(name, 'topic', { durable: true });
      await channel.assertQueue(name, { durable: true });
      await channel.bindQueue(name, name, '#');
    });
    const received: Received[] = [];
    return {
      module: (port) =>
        PaymentRabbitMqModule.register({ url: through(url, port), exchange: name, acknowledgeTimeoutMs: 2_000 }),
      received: () =>
        onChannel(url, async (channel) => {
          for (let message = await channel.get(name); message; message = await channel.get(name)) {
            received.push(readingOf(message));
            channel.ack(message);
          }
          // Once a later request has been answered, the acknowledgements have been processed.
          await channel.checkQueue(name);
          return received;
        }),
      remove: () =>
        onChannel(url, async (channel) => {
          await channel.deleteQueue(name);
          await channel.deleteExchange(name);
        }),
    };
  },
};

export function readingOf({ content, properties }: Pick<ConsumeMessage, 'content' | 'properties'>): Received {
  const { messageId, contentType } = properties as { messageId: string; contentType: string };
  return { messageId, contentType, event: readPaymentEvent(content) };
}
