import { Injectable, type DynamicModule, type Type } from '@nestjs/common';
import {
  OnPaymentEvent,
  type PaymentAcceptanceOptions,
  type PaymentEventContext,
  type PaymentShopOptions,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator, type PaymentDegradation } from 'nestjs-payment-acceptance/operations';
import type { PaymentSandbox } from 'nestjs-payment-sandbox';
import { setImmediate } from 'node:timers/promises';
import { DataSource, type EntityManager } from 'typeorm';
import type { TestedOptions } from '../../support/options.js';
import { connectionOf, forTestSql } from '../../support/database.js';
import { startGate, type Gate } from '../../support/gate.js';
import { MAIN_TOKEN, moduleOptions, startHarness, type Harness, type Instance } from '../../support/harness.js';
import { until } from '../../support/until.js';
import { Traffic } from './traffic.js';

/** Healthy neighbours in addition to the shop `main` and the consumer `orders`. */
export interface Neighbours {
  readonly shops?: number;
  readonly consumers?: number;
  readonly imports?: DynamicModule[];
  readonly options?: TestedOptions;
}

type Handle = (event: PaymentSucceededEvent, context: PaymentEventContext<EntityManager>) => unknown;

/** A host with running workers and healthy members, and the shop and consumer `sick`, which tests make fail. */
export interface World {
  readonly harness: Harness;
  readonly host: Instance;
  readonly traffic: Traffic;
  /** Between the host and the service, for the shop `sick` alone. */
  readonly sickService: Gate;
  /** Between the host and the service, for all others. */
  readonly service: Gate;
  /** A connection that the host cannot block: another program on the same database. */
  readonly outside: DataSource;
  /** The handler of the consumer `sick`; does nothing by default. */
  behave: Handle | undefined;
  /** The host's options, for instances in other processes. */
  readonly options: PaymentAcceptanceOptions;
  /** Starts another instance of the host, with its own pool. */
  startAnother(): Promise<Instance>;
  /** Creates a bill of the shop, outside the measured traffic. */
  bill(shop?: string): Promise<string>;
  /** Advances the clock, and wakes the workers. */
  pass(ms: number): void;
  /** The current degradations; no cached reading. */
  degraded(): Promise<readonly PaymentDegradation[]>;
  /** Paid bills that are not settled, and deliveries that are not done. */
  unfinished(): Promise<string[]>;
  close(): Promise<void>;
}

const handler = (consumer: string, handle: Handle): Type => {
  @Injectable()
  class Handler {
    @OnPaymentEvent('payment.succeeded', { consumer })
    async take(event: PaymentSucceededEvent, context: PaymentEventContext<EntityManager>): Promise<void> {
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
        [...shopNames, 'sick'].map((shop) => [shop, shopOptions(shop, shop === 'sick' ? sickService : service)]),
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
    degraded: () => degradedNow(host),
    unfinished: () => unfinishedOf(harness.sandbox, outside),
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

function tokenOf(shop: string): string {
  return shop === 'main' ? MAIN_TOKEN : `${shop}-token-0123456789abcdef`;
}

function shopOptions(shop: string, { url }: Gate): PaymentShopOptions {
  return { shopId: `shop-${shop}`, apiToken: tokenOf(shop), apiBaseUrl: url, requestsPerSecond: 1000 };
}

/** Waits for a new reading of health, which is cached for a moment. */
async function degradedNow(host: Instance): Promise<readonly PaymentDegradation[]> {
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
}

async function unfinishedOf(sandbox: PaymentSandbox, database: DataSource): Promise<string[]> {
  const paid = new Set(sandbox.bills().flatMap(({ id, paid }) => (paid ? [id] : [])));
  const settled = await database.query<{ id: string }[]>(
    `SELECT bill_id AS id FROM payment_acceptance.bill WHERE state = 'PAID'`,
  );
  const deliveries = await database.query<{ what: string }[]>(
    `SELECT concat(consumer, ' ', state, ' ', attempts) AS what FROM payment_acceptance.delivery WHERE state <> 'DONE'`,
  );
  return [
    ...[...paid].filter((id) => !settled.some((bill) => bill.id === id)).map((id) => `bill ${id} is not paid`),
    ...deliveries.map(({ what }) => what),
  ];
}
