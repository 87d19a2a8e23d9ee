import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { readPaymentEvent } from 'nestjs-payment-acceptance/inbox';
import { PaymentNatsModule } from 'nestjs-payment-acceptance/nats';
import { randomBytes } from 'node:crypto';
import type { BrokerKind, Received } from './bus.js';

/** Runs work on a new connection. */
export async function onServer<T>(url: string, work: (manager: JetStreamManager) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: url, timeout: 5_000, reconnect: false });
  try {
    return await work(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}

/** A stream with file storage for all subjects below its name. */
export const nats: BrokerKind = {
  consumer: 'nats',
  deduplicates: true,
  async makeBus(url) {
    const name = `payments-test-${randomBytes(6).toString('hex')}`;
    await onServer(url, (manager) => manager.streams.add({ name, subjects: [`${name}.>`] }));
    const received: Received[] = [];
    return {
      module: (port) =>
        PaymentNatsModule.register({
          servers: `nats://127.0.0.1:${port}`,
          stream: name,
          subject: ({ type, data }) => `${name}.${type}.${data.shop}`,
          acknowledgeTimeoutMs: 2_000,
        }),
      received: () =>
        onServer(url, async (manager) => {
          const { state } = await manager.streams.info(name);
          for (let seq = received.length + 1; seq <= state.last_seq; seq += 1) {
            const message = await manager.streams.getMessage(name, { seq });
            if (!message) throw new Error(`Message ${seq} is gone.`);
            received.push({
              messageId: message.header.get('Nats-Msg-Id'),
              contentType: message.header.get('Content-Type'),
              event: readPaymentEvent(message.data),
            });
          }
          return received;
        }),
      remove: () =>
        onServer(url, async (manager) => {
          await manager.streams.delete(name);
        }),
    };
  },
};
