import { Injectable, type DynamicModule, type Type } from '@nestjs/common';
import {
  OnPaymentEvent,
  type PaymentAcceptanceOptions,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator, type PaymentDegradation } from 'nestjs-payment-acceptance/operations';
import { setImmediate } from 'node:timers/promises';
import { DataSource } from 'typeorm';
import { connectionOf, forTestSql } from '../../support/database.js';
import { startGate, type Gate } from '../../support/gate.js';
import { MAIN_TOKEN, moduleOptions, startHarness, type Harness, type Instance } from '../../support/harness.js';
import { until } from '../../support/until.js';
import { Traffic } from './traffic.js';

/** Who is healthy besides the host, its shop `main` and its consumer `orders`. */
export interface Neighbours {
  readonly shops?: number;
  readonly consumers?: number;
  readonly imports?: DynamicModule[];
  readonly options?: Partial<PaymentAcceptanceOptions>;
}

type Handle = (event: PaymentSucceededEvent, context: PaymentEventContext) => unknown;

/** A host whose workers run by themselves, among healthy neighbours, with a shop and a consumer that may fall sick. */
export interface World {
  readonly harness: Harness;
  readonly host: Instance;
  readonly traffic: Traffic;
  /** Between the host and the service, for the shop `sick` alone. */
  readonly sickService: Gate;
  /** Between the host and the service, for all others. */
  readonly service: Gate;
  /** Whom nothing of the host's can hold up: another program on the same database. */
  readonly outside: DataSource;
  /** What the consumer `sick` does with each event; nothing unless it is set. */
  behave: Handle | undefined;
  /** The host's, for instances in other processes. */
  readonly options: PaymentAcceptanceOptions;
  /** One more instance of the host, on a pool of its own. */
  startAnother(): Promise<Instance>;
  /** Makes a bill of the shop, which nobody waits for. */
  bill(shop?: string): Promise<string>;
  /** Moves the clock ahead, and has the workers look. */
  pass(ms: number): void;
  /** As health has it now: no reading of a second ago. */
  degraded(): Promise<readonly PaymentDegradation[]>;
  /** Paid orders, and what they lack: to be settled, told, or looked at by a person. */
  unfinished(): Promise<string[]>;
  close(): Promise<void>;
}

const handler = (consumer: string, handle: Handle): Type => {
  @Injectable()
  class Handler {
    @OnPaymentEvent('payment.succeeded', { consumer })
    async take(event: PaymentSucceededEvent, context: PaymentEventContext): Promise<void> {
      await handle(event, context);
    }
  }
  return Handler;
};

const numbered = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${name}-${index + 1}`);

export async function startWorld({ shops = 0, consumers = 0, imports, options }: Neighbours = {}): Promise<World> {
  let behave: Handle | undefined;
  let bills = 0;
  const consumerNames = ['orders', ...numbered('consumer', consumers)];
  const shopNames = ['main', ...numbered('shop', shops)];
  const tokenOf = (shop: string): string => (shop === 'main' ? MAIN_TOKEN : `${shop}-token-0123456789abcdef`);
  const providers = [
    ...consumerNames.map((name) => handler(name, ({ orderId }) => traffic.told(orderId, name))),
    handler('sick', (event, context) => behave?.(event, context)),
  ];
  const sandboxShops = Object.fromEntries(
    [...shopNames, 'sick'].map((shop) => [`shop-${shop}`, { apiToken: tokenOf(shop) }]),
  );
  const harness = await startHarness({ providers, imports, sandbox: { shops: sandboxShops } });
  const [service, sickService] = [await startGate(harness.sandboxUrl), await startGate(harness.sandboxUrl)];
  const instance = {
    options: {
      ...options,
      autoStart: true,
      shops: Object.fromEntries(
        [...shopNames, 'sick'].map((shop) => [
          shop,
          {
            shopId: `shop-${shop}`,
            apiToken: tokenOf(shop),
            apiBaseUrl: shop === 'sick' ? sickService.url : service.url,
            requestsPerSecond: 1000,
          },
        ]),
      ),
      defaultShop: 'main',
    },
  };
  const host = await harness.start(instance);
  const traffic = new Traffic(() => host.payments, harness.sandbox, shopNames, consumerNames);
  for (const shop of [...shopNames, 'sick'])
    await harness.sandbox.putShop(`shop-${shop}`, { resultUrl: `${host.url}/postback/payment/${shop}` });
  const outside = await forTestSql(await new DataSource(connectionOf(harness.databaseUrl)).initialize());
  return {
    ...{ harness, host, traffic, service, sickService, outside },
    startAnother: () => harness.start(instance),
    options: moduleOptions(harness.sandboxUrl, instance.options),
    get behave() {
      return behave;
    },
    set behave(handle) {
      behave = handle;
    },
    async bill(shop = 'main') {
      bills += 1;
      return (await host.payments.shop(shop).createBill({ orderId: `sick-${bills}`, amount: '10' })).billId;
    },
    pass(ms) {
      harness.clock.advance(ms);
      host.confirmer.wake();
      host.deliveries.wake();
    },
    async degraded() {
      const ask = () => host.app.get(PaymentHealthIndicator).isHealthy('payments');
      const before = (await ask()).payments;
      const { payments } = await until(
        async () => {
          await setImmediate();
          return ask();
        },
        (now) => now.payments.backlog !== before.backlog,
      );
      return payments.degraded;
    },
    async unfinished() {
      const paid = new Set(harness.sandbox.bills().flatMap(({ id, paid }) => (paid ? [id] : [])));
      const settled = await outside.query<{ id: string }[]>(
        `SELECT service_bill_id AS id FROM payment_acceptance.bill WHERE state = 'PAID'`,
      );
      const deliveries = await outside.query<{ what: string }[]>(
        `SELECT concat(consumer, ' ', state, ' ', attempts) AS what FROM payment_acceptance.delivery WHERE state <> 'DONE'`,
      );
      return [
        ...[...paid].filter((id) => !settled.some((bill) => bill.id === id)).map((id) => `bill ${id} is not paid`),
        ...deliveries.map(({ what }) => what),
      ];
    },
    async close() {
      sickService.open();
      service.open();
      await outside.destroy();
      await harness.close();
      await sickService.close();
      await service.close();
    },
  };
}
