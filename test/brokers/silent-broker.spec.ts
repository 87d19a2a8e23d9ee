import { beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { PaymentMicroservicesModule, type PaymentMicroservicesOptions } from 'nestjs-payment-acceptance/microservices';
import { setImmediate } from 'node:timers/promises';
import { EMPTY, NEVER } from 'rxjs';
import type { TestedOptions } from '../support/options.js';
import { startHarness, type Harness } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { until } from '../support/until.js';
import { ShortPauses, deliveriesTo, passing, pay } from './support/paid-orders.js';

@Injectable()
class Orders {
  readonly handled: string[] = [];

  @OnPaymentSucceeded({ consumer: 'orders' })
  take({ orderId }: { orderId: string }): void {
    this.handled.push(orderId);
  }
}

describe('silent broker', () => {
  const closeLater = closing();

  /** A client like those of `@nestjs/microservices`, with a broker that answers or not. */
  function makeBroker() {
    const broker = {
      answers: false,
      sent: [] as string[],
      connecting: Promise.resolve(),
      /** Events sent through each connection. */
      sentThrough: [] as number[],
      client: {
        connect: () => {
          broker.sentThrough.push(0);
          return broker.connecting;
        },
        emit: (_pattern: unknown, event: unknown) => {
          broker.sent.push((event as { subject: string }).subject);
          broker.sentThrough.push((broker.sentThrough.pop() ?? 0) + 1);
          return broker.answers ? EMPTY : NEVER;
        },
      },
    };
    return broker;
  }

  async function startHost(
    client: PaymentMicroservicesOptions['client'],
    {
      handlers = true,
      options = {},
      ...limits
    }: Partial<PaymentMicroservicesOptions> & {
      handlers?: boolean;
      options?: TestedOptions;
    },
  ): Promise<{ harness: Harness; orders: Orders }> {
    const orders = new Orders();
    const harness = await startHarness({
      random: new ShortPauses(),
      providers: handlers ? [{ provide: Orders, useValue: orders }] : [],
      imports: [PaymentMicroservicesModule.register({ client, consumer: 'bus', ...limits })],
      options: {
        pollMs: 50,
        shutdownTimeoutMs: 100,
        ...options,
        deliveries: { retryBaseMs: 1, retryCapMs: 1, ...options.deliveries },
      },
    });
    closeLater(() => harness.close());
    return { harness, orders };
  }

  const all = (count: number, what: object): object[] => Array.from({ length: count }, () => what);

  /** While others go on. */
  const turning =
    <T>(ask: () => T) =>
    async (): Promise<T> => {
      await setImmediate();
      return ask();
    };

  describe('a broker that does not acknowledge', () => {
    test('a broker that does not acknowledge is tried with one event at a time until it answers, then all go out', async () => {
      const broker = makeBroker();
      const { harness } = await startHost(broker.client, { handlers: false, acknowledgeTimeoutMs: 20 });
      const orderIds = await pay(harness, 4);
      await harness.host.deliveries.runOnce();
      await until(
        passing(harness, () => broker.sent.length),
        (sent) => sent >= 4 + 2,
      );
      expect(broker.sentThrough[0]).toBe(4);
      expect(Math.max(...broker.sentThrough.slice(1))).toBe(1);
      broker.answers = true;
      const states = async () => (await deliveriesTo(harness, 'bus')).map(({ state }) => state);
      await until(passing(harness, states), (each) => each.every((state) => state === 'DONE'));
      expect(await deliveriesTo(harness, 'bus')).toMatchObject(all(4, { attempts: 1 }));
      expect(new Set(broker.sent)).toEqual(new Set(orderIds));
    });

    test('a broker that does not acknowledge costs no attempt when the application shuts down meanwhile', async () => {
      const broker = makeBroker();
      const { harness } = await startHost(broker.client, { options: { shutdownTimeoutMs: 1 } });
      await pay(harness, 1);
      const other = await harness.start({ providers: [Orders] });
      harness.host.deliveries.start();
      await until(
        turning(() => broker.sent.length),
        (sent) => sent === 1,
      );
      await harness.host.app.close();
      const deliveries = (await other.ledger()).events.flatMap((event) => event.deliveries);
      expect(deliveries.find(({ consumer }) => consumer === 'bus')).toMatchObject({ state: 'PENDING', attempts: 0 });
    });

    test('a broker that does not acknowledge delays no handler, and holds no more than half of the places', async () => {
      const broker = makeBroker();
      const { harness, orders } = await startHost(broker.client, { options: { deliveries: { concurrency: 4 } } });
      const orderIds = await pay(harness, 10);
      harness.host.deliveries.start();
      await until(
        turning(() => orders.handled.length),
        (handled) => handled === 10,
      );
      expect(new Set(orders.handled)).toEqual(new Set(orderIds));
      expect(broker.sent).toHaveLength(2);
    });

    test('a broker that does not acknowledge has all places if no other consumer needs one', async () => {
      const broker = makeBroker();
      const { harness } = await startHost(broker.client, {
        handlers: false,
        options: { deliveries: { concurrency: 4 } },
      });
      await pay(harness, 5);
      harness.host.deliveries.start();
      await until(
        turning(() => broker.sent.length),
        (sent) => sent === 4,
      );
    });
  });

  test('handlers and a broker that answers both get their events, even with a single place', async () => {
    for (const concurrency of [1, 2, 4]) {
      const broker = makeBroker();
      broker.answers = true;
      const { harness, orders } = await startHost(broker.client, { options: { deliveries: { concurrency } } });
      await pay(harness, 6);
      harness.host.deliveries.start();
      await until(
        turning(() => [orders.handled.length, broker.sent.length]),
        ([handled, sent]) => handled === 6 && sent === 6,
      );
    }
  });

  describe('a broker that has not been connected yet', () => {
    let broker: ReturnType<typeof makeBroker>;
    let connected: () => void;
    beforeEach(() => {
      broker = makeBroker();
      broker.answers = true;
      broker.connecting = new Promise((resolve) => (connected = resolve));
      closeLater(() => Promise.resolve(connected()));
    });

    test('a broker that has not been connected yet delays no handler', async () => {
      const { harness, orders } = await startHost(broker.client, {});
      await pay(harness, 1);
      harness.host.deliveries.start();
      await until(
        turning(() => orders.handled.length),
        (handled) => handled === 1,
      );
      expect([broker.sentThrough.length, broker.sent.length]).toEqual([1, 0]);
    });

    test('a broker gets its waiting events as soon as it is connected', async () => {
      const { harness } = await startHost(broker.client, { handlers: false, options: { pollMs: 60_000 } });
      await pay(harness, 1);
      harness.host.deliveries.start();
      await until(
        turning(() => broker.sentThrough.length),
        (connections) => connections === 1,
      );
      connected();
      await until(
        turning(() => broker.sent.length),
        (sent) => sent === 1,
      );
    });
  });
});
