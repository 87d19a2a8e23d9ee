import { describe, test } from '@jest/globals';
import { closing } from '../support/closing.js';
import { startHarness } from '../support/harness.js';
import type { BrokerKind } from './support/bus.js';
import { nats, onServer } from './support/nats.js';
import { payThrough } from './support/outage.js';
import { natsServer, programOf, rabbitMqServer, startOwnServer } from './support/own-server.js';
import { onChannel, rabbitMq } from './support/rabbitmq.js';

const closeLater = closing();

const OPTIONS = {
  autoStart: true,
  pollMs: 50,
  deliveries: { retryBaseMs: 50, retryCapMs: 500 },
};

type Server = Awaited<ReturnType<typeof startOwnServer>>;

async function survives(kind: BrokerKind, server: Server): Promise<void> {
  closeLater(() => server.close());
  const bus = await kind.makeBus(server.url);
  const harness = await startHarness({ imports: [bus.module(server.port)], options: OPTIONS, instances: 2 });
  closeLater(() => harness.close());
  await payThrough(harness, bus, 30, async () => {
    await server.kill();
    await server.start();
  });
}

describe('a broker killed and restarted halfway', () => {
  const natsProgram = programOf('/usr/sbin/nats-server', '/usr/local/bin/nats-server', '/usr/bin/nats-server');
  const onNats = natsProgram === undefined ? test.skip : test;
  onNats(
    `NATS JetStream killed and restarted halfway loses and reorders nothing${natsProgram ? '' : ' (there is no nats-server to start)'}`,
    async () => {
      const ask = (url: string) => onServer(url, (manager) => manager.getAccountInfo());
      await survives(nats, await startOwnServer(natsProgram ?? '', natsServer, ask, 'nats'));
    },
    180_000,
  );

  const rabbitProgram = programOf('/usr/lib/rabbitmq/bin/rabbitmq-server', '/opt/rabbitmq/sbin/rabbitmq-server');
  const onRabbitMq = rabbitProgram === undefined ? test.skip : test;
  onRabbitMq(
    `RabbitMQ killed and restarted halfway loses and reorders nothing${rabbitProgram ? '' : ' (there is no rabbitmq-server to start)'}`,
    async () => {
      const ask = (url: string) => onChannel(url, (channel) => channel.assertExchange('amq.topic', 'topic'));
      await survives(rabbitMq, await startOwnServer(rabbitProgram ?? '', rabbitMqServer, ask, 'amqp'));
    },
    180_000,
  );
});
