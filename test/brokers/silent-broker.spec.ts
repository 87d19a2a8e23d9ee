import { beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, type PaymentAcceptanceOptions } from 'nestjs-payment-acceptance';
import { PaymentRandom } from 'nestjs-payment-acceptance/testing';
import { PaymentMicroservicesModule, type PaymentMicroservicesOptions } from 'nestjs-payment-acceptance/microservices';
import { PaymentRabbitMqModule } from 'nestjs-payment-acceptance/rabbitmq';
import { setImmediate } from 'node:timers/promises';
import { EMPTY, NEVER } from 'rxjs';
import { startHarness, type Harness } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { until } from '../support/until.js';
import { startTroubledRabbitMq, type Trouble } from './support/troubled-rabbitmq.js';

@Injectable()
class Orders {
  readonly handled: string[] = [];

  @OnPaymentSucceeded({ consumer: 'orders' })
  take({ orderId }: { orderId: string }): void {
    this.handled.push(orderId);
  }
}

/** Makes the pause before reconnecting as short as possible. */
class ShortPauses extends PaymentRandom {
  override fraction = (): number => 0;
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
      deliveries = {},
      ...limits
    }: Partial<PaymentMicroservicesOptions> & {
      handlers?: boolean;
      deliveries?: PaymentAcceptanceOptions['deliveries'];
    },
  ): Promise<{ harness: Harness; orders: Orders }> {
    const orders = new Orders();
    const harness = await startHarness({
      random: new ShortPauses(),
      providers: handlers ? [{ provide: Orders, useValue: orders }] : [],
      imports: [PaymentMicroservicesModule.register({ client, consumer: 'bus', ...limits })],
      options: { deliveries: { pollMs: 50, retryBaseMs: 1, retryCapMs: 1, shutdownMs: 100, ...deliveries } },
    });
    closeLater(() => harness.close());
    return { harness, orders };
  }

  /** Pays that many orders; their events exist, but none has been delivered. */
  async function pay(harness: Harness, count: number): Promise<string[]> {
    const orderIds = Array.from({ length: count }, (_, index) => `A-${index}`);
    for (const orderId of orderIds) {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId);
    }
    await harness.sandbox.settled();
    while ((await harness.host.confirmer.runOnce()) > 0);
    return orderIds;
  }

  async function deliveriesTo(harness: Harness, consumer: string) {
    const { events } = await harness.host.ledger();
    return events.flatMap(({ deliveries }) => deliveries.filter((each) => each.consumer === consumer));
  }

  const all = (count: number, what: object): object[] => Array.from({ length: count }, () => what);

  /** While others go on. */
  const turning =
    <T>(ask: () => T) =>
    async (): Promise<T> => {
      await setImmediate();
      return ask();
    };

  /** Lets time pass while its worker polls. */
  const passing =
    <T>(harness: Harness, ask: () => T | Promise<T>) =>
    async (): Promise<T> => {
      harness.clock.advance(60_000);
      await harness.host.deliveries.runOnce();
      return ask();
    };

  describe('a broker that does not acknowledge', () => {
    async function startBeside(trouble: Trouble) {
      const broker = await startTroubledRabbitMq(trouble);
      closeLater(() => broker.close());
      const rabbit = PaymentRabbitMqModule.register({
        url: broker.url,
        exchange: 'payments',
        acknowledgeTimeoutMs: 20,
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
      ['blocked', 1, 'The broker has not acknowledged an event in time.'],
      ['silent', 3, 'The broker has not acknowledged an event in time.'],
      ['lost', 3, 'channel closed'],
    ])('costs no attempt, whatever it lasts: %s', async (trouble, tries, reason) => {
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
    });

    test('while what it closes its channel for is a refusal, which counts', async () => {
      const { broker, harness } = await startBeside('rejected');
      await pay(harness, 1);
      const only = async () => (await deliveriesTo(harness, 'rabbitmq'))[0]!;
      await until(passing(harness, only), ({ state }) => state === 'DEAD');
      expect(await only()).toMatchObject({ attempts: 2 });
      expect(broker.count.published).toBe(2);
    });

    test('is tried with one event at a time until it answers; then all go out', async () => {
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

    test('costs no attempt when the application shuts down meanwhile', async () => {
      const broker = makeBroker();
      const { harness } = await startHost(broker.client, { deliveries: { shutdownMs: 1 } });
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

    test('keeps no handler waiting, and holds no more than half of the places', async () => {
      const broker = makeBroker();
      const { harness, orders } = await startHost(broker.client, { deliveries: { concurrency: 4 } });
      const orderIds = await pay(harness, 10);
      harness.host.deliveries.start();
      await until(
        turning(() => orders.handled.length),
        (handled) => handled === 10,
      );
      expect(new Set(orders.handled)).toEqual(new Set(orderIds));
      expect(broker.sent).toHaveLength(2);
    });

    test('has all places where nobody else needs one', async () => {
      const broker = makeBroker();
      const { harness } = await startHost(broker.client, { handlers: false, deliveries: { concurrency: 4 } });
      await pay(harness, 5);
      harness.host.deliveries.start();
      await until(
        turning(() => broker.sent.length),
        (sent) => sent === 4,
      );
    });
  });

  test('handlers and a broker that answers both get their events, with one place, too', async () => {
    for (const concurrency of [1, 2, 4]) {
      const broker = makeBroker();
      broker.answers = true;
      const { harness, orders } = await startHost(broker.client, { deliveries: { concurrency } });
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

    test('keeps no handler waiting', async () => {
      const { harness, orders } = await startHost(broker.client, {});
      await pay(harness, 1);
      harness.host.deliveries.start();
      await until(
        turning(() => orders.handled.length),
        (handled) => handled === 1,
      );
      expect([broker.sentThrough.length, broker.sent.length]).toEqual([1, 0]);
    });

    test('gets its events as soon as it is', async () => {
      const { harness } = await startHost(broker.client, { handlers: false, deliveries: { pollMs: 60_000 } });
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
