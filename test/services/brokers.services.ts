import { describe, expect, test } from '@jest/globals';
import { closing } from '../support/closing.js';
import { startHarness, type Harness } from '../support/harness.js';
import type { BrokerKind, Bus } from './support/bus.js';
import { nats } from './support/nats.js';
import { eventually, payThrough } from './support/outage.js';
import { startProxy, type Proxy } from './support/proxy.js';
import { rabbitMq } from './support/rabbitmq.js';
import { describeOn, service } from './support/service.js';

const kinds: [BrokerKind, Awaited<ReturnType<typeof service>>][] = [
  [rabbitMq, await service('TEST_RABBITMQ_URL')],
  [nats, await service('TEST_NATS_URL')],
];

/** Workers run by themselves and poll often. */
const RUNNING = {
  autoStart: true,
  pollMs: 50,
  deliveries: { retryBaseMs: 50, retryCapMs: 500 },
};

const closeLater = closing();

for (const [kind, broker] of kinds) {
  describeOn(broker, (url) => {
    const target = { host: new URL(url).hostname, port: Number(new URL(url).port || (kind === nats ? 4222 : 5672)) };

    async function start(options = {}, instances = 1): Promise<{ harness: Harness; bus: Bus; proxy: Proxy }> {
      const bus = await kind.makeBus(url);
      closeLater(() => bus.remove());
      const proxy = await startProxy(target);
      closeLater(() => proxy.close());
      const harness = await startHarness({ imports: [bus.module(proxy.port)], options, instances });
      closeLater(() => harness.close());
      return { harness, bus, proxy };
    }

    test('an event is sent in its envelope, and counts as delivered only then', async () => {
      const { harness, bus } = await start();
      const { billId } = await harness.host.payments.createBill({ orderId: 'Ä-1', amount: '100.05', custom: '€ "1"' });
      await harness.sandbox.pay(billId, { outcome: 'fail' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      const { events } = await harness.host.ledger();
      const messages = await bus.received();
      expect(messages.map(({ event }): object => event)).toEqual(
        events.toReversed().map(({ id, name, occurredAt }) => ({
          specversion: '1.0',
          id,
          source: '/payment-acceptance/main',
          type: name,
          subject: 'Ä-1',
          time: occurredAt,
          datacontenttype: 'application/json',
          partitionkey: billId,
          data: expect.objectContaining({ id, billId, orderId: 'Ä-1', custom: '€ "1"', amount: '100.05' }),
        })),
      );
      for (const { messageId, contentType, event } of messages) {
        expect(contentType).toBe('application/cloudevents+json; charset=utf-8');
        expect(messageId).toBe(kind.deduplicates ? `${kind.consumer}:${event.id}` : event.id);
      }
      expect(events.flatMap(({ deliveries }) => deliveries)).toMatchObject(
        Array.from({ length: 2 }, () => ({ consumer: kind.consumer, state: 'DONE', attempts: 1 })),
      );
    });

    test('an unreachable broker neither delays the start, nor uses up attempts, nor affects handlers', async () => {
      const { harness, bus, proxy } = await start();
      await proxy.cut();
      const { billId } = await harness.host.payments.createBill({ orderId: 'waiting', amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      const deliveries = async () => (await harness.host.ledger()).events.flatMap((event) => event.deliveries);
      expect(await deliveries()).toMatchObject([{ state: 'PENDING', attempts: 0 }]);
      await proxy.restore();
      await eventually(
        () => harness.host.deliveries.runOnce(),
        (done) => done > 0,
        'the event goes out',
      );
      expect(await deliveries()).toMatchObject([{ state: 'DONE', attempts: 1 }]);
      expect(await bus.received()).toHaveLength(1);
    });

    test('after a lost acknowledgement the event is sent again with the same id', async () => {
      const { harness, bus, proxy } = await start({ deliveries: { retryBaseMs: 1, retryCapMs: 1 } });
      const pay = async (orderId: string): Promise<void> => {
        const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
        await harness.sandbox.pay(billId);
      };
      await pay('first');
      await harness.settle();
      await pay('second');
      void proxy.mute();
      await harness.settle();
      const [second] = (await harness.host.ledger()).events;
      expect(second!.deliveries).toMatchObject([{ state: 'PENDING', attempts: 0 }]);
      expect(second!.deliveries[0]!.lastError).toContain('The broker did not acknowledge an event in time.');
      await proxy.cut();
      await proxy.restore();
      await eventually(
        () => harness.host.deliveries.runOnce(),
        (done) => done > 0,
        'the event goes out',
      );
      const ids = (await bus.received()).map(({ event }) => event.id);
      expect(ids.filter((id) => id === second!.id)).toHaveLength(kind.deduplicates ? 1 : 2);
      expect((await harness.host.ledger()).events[0]!.deliveries).toMatchObject([{ state: 'DONE', attempts: 1 }]);
    });

    test('an application that shuts down closes its connection, even if the broker no longer answers', async () => {
      const { harness, proxy } = await start();
      const { billId } = await harness.host.payments.createBill({ orderId: 'last', amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      const other = await harness.start();
      await other.deliveries.runOnce();
      expect(proxy.open()).toBe(2);
      await harness.host.app.close();
      void proxy.mute();
      const began = performance.now();
      await other.app.close();
      expect(performance.now() - began).toBeLessThan(5_000);
    });

    describe('a connection cut halfway', () => {
      const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

      test('a connection cut with messages in flight loses and reorders nothing', async () => {
        const { harness, bus, proxy } = await start(RUNNING, 2);
        await payThrough(harness, bus, 30, async () => {
          await proxy.cut();
          await pause(700);
          await proxy.restore();
        });
      });

      test('a connection cut after lost acknowledgements loses and reorders nothing', async () => {
        const { harness, bus, proxy } = await start(RUNNING, 2);
        // All instances are connected, so what gets lost is an acknowledgement.
        for (const { deliveries } of harness.instances) await deliveries.runOnce();
        const { messages } = await payThrough(harness, bus, 30, async () => {
          await proxy.mute();
          await proxy.cut();
          await proxy.restore();
        });
        const copies = messages.length - new Set(messages.map(({ event }) => event.id)).size;
        if (kind.deduplicates) expect(copies).toBe(0);
        else expect(copies).toBeGreaterThan(0);
      });
    });
  });
}
