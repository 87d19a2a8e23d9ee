import { beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, PaymentRandom, type PaymentAcceptanceOptions } from 'nestjs-payment-acceptance';
import { PaymentMicroservicesModule, type PaymentMicroservicesOptions } from 'nestjs-payment-acceptance/microservices';
import { PaymentRabbitMqModule } from 'nestjs-payment-acceptance/rabbitmq';
import { setImmediate } from 'node:timers/promises';
import { EMPTY, NEVER } from 'rxjs';
import { startBed, type Bed } from '../support/bed.js';
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

/** A pause before the next connection is as short as it may be. */
class ShortPauses extends PaymentRandom {
  override fraction = (): number => 0;
}

describe('silent broker', () => {
  const closeLater = closing();

  /** A client as those of `@nestjs/microservices`, whose broker answers or not. */
  function makeBroker() {
    const broker = {
      answers: false,
      sent: [] as string[],
      connecting: Promise.resolve(),
      /** How many events have been sent through each connection. */
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
  ): Promise<{ bed: Bed; orders: Orders }> {
    const orders = new Orders();
    const bed = await startBed({
      random: new ShortPauses(),
      providers: handlers ? [{ provide: Orders, useValue: orders }] : [],
      imports: [PaymentMicroservicesModule.register({ client, consumer: 'bus', ...limits })],
      options: { deliveries: { pollMs: 50, retryBaseMs: 1, retryCapMs: 1, shutdownMs: 100, ...deliveries } },
    });
    closeLater(() => bed.close());
    return { bed, orders };
  }

  /** Pays so many orders; their events are there, and nobody has been handed one. */
  async function pay(bed: Bed, count: number): Promise<string[]> {
    const orderIds = Array.from({ length: count }, (_, index) => `A-${index}`);
    for (const orderId of orderIds) {
      const { billId } = await bed.host.payments.createBill({ orderId, amount: '10' });
      await bed.sandbox.pay(billId);
    }
    await bed.sandbox.settled();
    while ((await bed.host.confirmer.runOnce()) > 0);
    return orderIds;
  }

  async function deliveriesTo(bed: Bed, consumer: string) {
    const { events } = await bed.host.ledger();
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

  /** Its time passes, as its worker looks again and again. */
  const passing =
    <T>(bed: Bed, ask: () => T | Promise<T>) =>
    async (): Promise<T> => {
      bed.clock.advance(60_000);
      await bed.host.deliveries.runOnce();
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
      const bed = await startBed({
        random: new ShortPauses(),
        imports: [rabbit],
        options: { deliveries: { maxAttempts: 2 } },
      });
      closeLater(() => bed.close());
      return { broker, bed };
    }

    test.each<[Trouble, number, string]>([
      ['blocked', 1, 'The broker has not acknowledged an event in time.'],
      ['silent', 3, 'The broker has not acknowledged an event in time.'],
      ['lost', 3, 'channel closed'],
    ])('costs no attempt, whatever it lasts: %s', async (trouble, tries, reason) => {
      const { broker, bed } = await startBeside(trouble);
      await pay(bed, 1);
      await until(
        passing(bed, () => broker.count.published),
        (published) => published >= tries,
      );
      for (let more = 0; more < 5; more += 1) await passing(bed, () => undefined)();
      const lastError: unknown = expect.stringContaining(reason);
      expect(await deliveriesTo(bed, 'rabbitmq')).toMatchObject([{ state: 'PENDING', attempts: 0, lastError }]);
      // One that says when it goes on is left alone until then.
      if (trouble === 'blocked') expect(broker.count).toEqual({ connections: 1, published: 1 });

      broker.end();
      const only = async () => (await deliveriesTo(bed, 'rabbitmq'))[0]!;
      await until(passing(bed, only), ({ state }) => state === 'DONE');
      expect(await only()).toMatchObject({ attempts: 1, lastError: null });
    });

    test('while what it closes its channel for is a refusal, which counts', async () => {
      const { broker, bed } = await startBeside('rejected');
      await pay(bed, 1);
      const only = async () => (await deliveriesTo(bed, 'rabbitmq'))[0]!;
      await until(passing(bed, only), ({ state }) => state === 'DEAD');
      expect(await only()).toMatchObject({ attempts: 2 });
      expect(broker.count.published).toBe(2);
    });

    test('is tried with one event at a time until it answers; then all go out', async () => {
      const broker = makeBroker();
      const { bed } = await startHost(broker.client, { handlers: false, acknowledgeTimeoutMs: 20 });
      const orderIds = await pay(bed, 4);
      await bed.host.deliveries.runOnce();
      await until(
        passing(bed, () => broker.sent.length),
        (sent) => sent >= 4 + 2,
      );
      expect(broker.sentThrough[0]).toBe(4);
      expect(Math.max(...broker.sentThrough.slice(1))).toBe(1);
      broker.answers = true;
      const states = async () => (await deliveriesTo(bed, 'bus')).map(({ state }) => state);
      await until(passing(bed, states), (each) => each.every((state) => state === 'DONE'));
      expect(await deliveriesTo(bed, 'bus')).toMatchObject(all(4, { attempts: 1 }));
      expect(new Set(broker.sent)).toEqual(new Set(orderIds));
    });

    test('costs no attempt when the application shuts down meanwhile', async () => {
      const broker = makeBroker();
      const { bed } = await startHost(broker.client, { deliveries: { shutdownMs: 1 } });
      await pay(bed, 1);
      const other = await bed.start({ providers: [Orders] });
      bed.host.deliveries.start();
      await until(
        turning(() => broker.sent.length),
        (sent) => sent === 1,
      );
      await bed.host.app.close();
      const deliveries = (await other.ledger()).events.flatMap((event) => event.deliveries);
      expect(deliveries.find(({ consumer }) => consumer === 'bus')).toMatchObject({ state: 'PENDING', attempts: 0 });
    });

    test('keeps no handler waiting, and holds no more than half of the places', async () => {
      const broker = makeBroker();
      const { bed, orders } = await startHost(broker.client, {});
      const orderIds = await pay(bed, 10);
      bed.host.deliveries.start();
      await until(
        turning(() => orders.handled.length),
        (handled) => handled === 10,
      );
      expect(new Set(orders.handled)).toEqual(new Set(orderIds));
      expect(broker.sent).toHaveLength(2);
    });

    test('has all places where nobody else needs one', async () => {
      const broker = makeBroker();
      const { bed } = await startHost(broker.client, { handlers: false });
      await pay(bed, 5);
      bed.host.deliveries.start();
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
      const { bed, orders } = await startHost(broker.client, { deliveries: { concurrency } });
      await pay(bed, 6);
      bed.host.deliveries.start();
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
      const { bed, orders } = await startHost(broker.client, {});
      await pay(bed, 1);
      bed.host.deliveries.start();
      await until(
        turning(() => orders.handled.length),
        (handled) => handled === 1,
      );
      expect([broker.sentThrough.length, broker.sent.length]).toEqual([1, 0]);
    });

    test('gets its events as soon as it is', async () => {
      const { bed } = await startHost(broker.client, { handlers: false, deliveries: { pollMs: 60_000 } });
      await pay(bed, 1);
      bed.host.deliveries.start();
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
