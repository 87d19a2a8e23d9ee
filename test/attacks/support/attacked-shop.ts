import { expect } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { withConstants, type TestedOptions } from '../../support/options.js';
import { Confirmer } from '../../../libs/payment-acceptance/src/settlement/confirmer.js';
import { DeliveryWorker } from '../../../libs/payment-acceptance/src/events/delivery.worker.js';
import { ManualPaymentClock, PaymentClock } from 'nestjs-payment-acceptance/testing';
import { migratePaymentAcceptance } from 'nestjs-payment-acceptance';
import { startPaymentSandbox, type PaymentSandbox, type PayInput, type Redirect } from 'nestjs-payment-sandbox';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { AppModule } from '../../../apps/shop/src/app.module.js';
import { databaseOptions, openDatabase } from '../../../apps/shop/src/database/database.js';
import { paymentsConfig } from '../../../apps/shop/src/payments.config.js';
import { configureShop, shopAdapter } from '../../../apps/shop/src/shop.js';
import { readLedger, type PaymentLedger } from '../../support/ledger.js';
import type { Adapter } from '../../support/adapters.js';
import { createTestDatabase, forTestSql, type DatabaseTemplate } from '../../support/database.js';
import { postJson } from '../../support/http.js';
import { putCallbackAddresses, type OrderView } from '../../support/shop.js';
import { LogRecorder } from './log-recorder.js';
import { stateOf } from './state.js';

export const TOKENS = {
  main: 'sandbox-main-token-0123456789abcdef',
  eu: 'sandbox-eu-token-0123456789abcdef',
} as const;

/** An order and its first bill. */
export interface Bought {
  readonly id: string;
  readonly billId: string;
  readonly payUrl: string;
}

interface AttackedShopParts {
  readonly database: { readonly url: string; drop(): Promise<void> };
  readonly service: { readonly url: string; readonly sandbox: PaymentSandbox; close(): Promise<void> };
  readonly app: INestApplication;
  readonly dataSource: DataSource;
  readonly clock: ManualPaymentClock;
  readonly logs: LogRecorder;
}

/** The sample shop, in this process, with the sandbox as its payment acceptance service and a database of its own. */
export class AttackedShop {
  readonly url: string;
  readonly app: INestApplication;
  readonly sandbox: PaymentSandbox;
  readonly sandboxUrl: string;
  readonly databaseUrl: string;
  readonly dataSource: DataSource;
  readonly clock: ManualPaymentClock;
  readonly confirmer: Confirmer;
  readonly deliveries: DeliveryWorker;
  /** Everything that was logged, at every level. */
  readonly logs: LogRecorder;

  constructor(private readonly parts: AttackedShopParts) {
    const { app, service, database } = parts;
    this.url = addressOf(app);
    this.app = app;
    this.sandbox = service.sandbox;
    this.sandboxUrl = service.url;
    this.databaseUrl = database.url;
    this.dataSource = parts.dataSource;
    this.clock = parts.clock;
    this.confirmer = app.get(Confirmer);
    this.deliveries = app.get(DeliveryWorker);
    this.logs = parts.logs;
  }

  async buy(input: { amount?: string; shop?: 'main' | 'eu'; description?: string } = {}): Promise<Bought> {
    const answer = await postJson(`${this.url}/api/orders`, { amount: '100.05', ...input });
    if (answer.status !== 201) throw new Error(`POST /api/orders: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as Bought;
  }

  async order(id: string): Promise<OrderView> {
    return (await (await fetch(`${this.url}/api/orders/${id}`)).json()) as OrderView;
  }

  ledger(): Promise<PaymentLedger> {
    return readLedger(this.app);
  }

  /** How many requests have reached the service's API. */
  requests(): number {
    return this.sandbox.requests.length;
  }

  /** Pays like the payer on the service's page, waits for the postback, and returns the redirect. */
  async pay(billId: string, input?: PayInput): Promise<Redirect> {
    const { redirect } = await this.sandbox.pay(billId, input);
    await this.sandbox.settled();
    if (!redirect) throw new Error('This payment does not redirect the payer to the shop.');
    return redirect;
  }

  /** As {@link pay}, but the postback is lost: only the payer and the service know of the payment. */
  async paySilently(billId: string, input?: PayInput): Promise<Redirect> {
    await this.sandbox.setFaults({ postbacks: { drop: 1 } });
    return this.pay(billId, input).finally(() => this.sandbox.clearFaults());
  }

  /** Runs the workers until none has anything to do at the current time. */
  async settle(): Promise<void> {
    await this.sandbox.settled();
    while ((await this.confirmer.runOnce()) + (await this.deliveries.runOnce()) > 0);
  }

  /** Advances the clock, then runs the workers. */
  async elapse(ms: number): Promise<void> {
    this.clock.advance(ms);
    await this.settle();
  }

  /** Runs the workers until no callback is pending: a claim that the service does not confirm is checked repeatedly. */
  async settleHints(): Promise<void> {
    await this.settle();
    // The pauses of `schedule.lagMs`, twice, because the minimum time between two checks of a bill can delay them.
    for (const pauseMs of [3_000, 10_000, 30_000, 3_000, 10_000, 30_000]) {
      const rows = await this.dataSource.query<object[]>(
        'SELECT 1 FROM payment_acceptance.callback WHERE pending AND intent_id IS NOT NULL LIMIT 1',
      );
      if (rows.length === 0) return;
      await this.elapse(pauseMs);
    }
  }

  /**
   * Records payments, bills, events, deliveries, reviews and orders.
   * @returns a function that waits until all hints are settled, then asserts that none of these has changed
   */
  async watch(): Promise<() => Promise<void>> {
    await this.settleHints();
    const before = await stateOf(this.dataSource);
    return async () => {
      await this.settleHints();
      expect(await stateOf(this.dataSource)).toEqual(before);
    };
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.parts.service.close();
    await this.parts.database.drop();
  }
}

/** A database in which the sample shop has already been started once. */
const SHOP_TABLES: DatabaseTemplate = {
  name: 'shop',
  async fill(url) {
    process.env.DATABASE_URL = url;
    const dataSource = await openDatabase(databaseOptions() as DataSourceOptions);
    await migratePaymentAcceptance(dataSource).finally(() => dataSource.destroy());
  },
};

export interface AttackedShopOptions {
  /** Whether the workers run by themselves. Default `false`: the test runs them. */
  autoStart?: boolean;
  /** Options of the module in addition to the sample shop's own. */
  options?: TestedOptions;
  /** Puts something between shop and sandbox: receives the sandbox's address, returns the one that the shop calls. */
  service?: (sandboxUrl: string) => Promise<string>;
  /** Called before the application listens, for what a host adds to the shop. */
  prepare?: (app: INestApplication) => unknown;
}

export async function startAttackedShop(
  adapter: Adapter,
  { autoStart = false, options = {}, service: between, prepare }: AttackedShopOptions = {},
): Promise<AttackedShop> {
  const database = await createTestDatabase(SHOP_TABLES);
  const service = await startPaymentSandbox({
    logger: false,
    postbackRetryDelays: [],
    shops: { 'demo-main': { apiToken: TOKENS.main }, 'demo-eu': { apiToken: TOKENS.eu } },
  });
  // The sample shop reads these. Each spec file has an environment of its own.
  process.env.DATABASE_URL = database.url;
  process.env.SANDBOX_URL = (await between?.(service.url)) ?? service.url;
  const clock = new ManualPaymentClock();
  const logs = new LogRecorder();
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .setLogger(logs)
    .overrideProvider(PaymentClock)
    .useValue(clock)
    .overrideProvider(paymentsConfig.KEY)
    .useValue(
      withConstants({
        ...paymentsConfig(),
        autoStart,
        ...options,
        // The result page must not wait for a check that the test has yet to run.
        callbacks: { ...(!autoStart && { resultWaitMs: 1 }), ...options.callbacks },
        schedule: { jitterPercent: 0, ...options.schedule },
      }),
    )
    .compile();
  const app = module.createNestApplication(await shopAdapter(adapter), { logger: logs, forceCloseConnections: true });
  configureShop(app);
  await prepare?.(app);
  await app.listen(0, '127.0.0.1');
  await putCallbackAddresses(service.sandbox, addressOf(app));
  const dataSource = await forTestSql(app.get(DataSource));
  return new AttackedShop({ database, service, app, dataSource, clock, logs });
}

function addressOf(app: INestApplication): string {
  return `http://127.0.0.1:${((app.getHttpServer() as Server).address() as AddressInfo).port}`;
}
