import { expect } from '@jest/globals';
import type { INestApplication } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Confirmer } from '../../../libs/payment-acceptance/src/settlement/confirmer.js';
import { DeliveryWorker } from '../../../libs/payment-acceptance/src/events/delivery.worker.js';
import { ManualPaymentClock, PaymentClock } from 'nestjs-payment-acceptance/testing';
import { PaymentOperations, type PaymentLedger } from 'nestjs-payment-acceptance/operations';
import { migratePaymentAcceptance, type PaymentAcceptanceOptions } from 'nestjs-payment-acceptance';
import { startPaymentSandbox, type PaymentSandbox, type PayInput, type Redirect } from 'nestjs-payment-sandbox';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { AppModule } from '../../../apps/shop/src/app.module.js';
import { databaseOptions, openDatabase } from '../../../apps/shop/src/database/database.js';
import { paymentsConfig } from '../../../apps/shop/src/payments.config.js';
import { configureShop, shopAdapter } from '../../../apps/shop/src/shop.js';
import type { Adapter } from '../../support/adapters.js';
import { createTestDatabase, forTestSql, type DatabaseTemplate } from '../../support/database.js';
import { postJson } from '../../support/http.js';
import type { OrderView } from '../../support/shop.js';
import { LogRecorder } from './log-recorder.js';
import { stateOf } from './state.js';

export const TOKENS = {
  main: 'sandbox-main-token-0123456789abcdef',
  eu: 'sandbox-eu-token-0123456789abcdef',
} as const;

/** An order that somebody has bought, and its first bill. */
export interface Bought {
  readonly id: string;
  readonly billId: string;
  readonly payUrl: string;
}

/** The sample shop, in this process, with the sandbox as its payment acceptance service and a database of its own. */
export interface AttackedShop {
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
  buy(input?: { amount?: string; shop?: 'main' | 'eu'; description?: string }): Promise<Bought>;
  order(id: string): Promise<OrderView>;
  ledger(): Promise<PaymentLedger>;
  /** How many requests have reached the service's API. */
  requests(): number;
  /** Pays as the payer does on the service's page, lets the postback arrive, and returns the redirect. */
  pay(billId: string, input?: PayInput): Promise<Redirect>;
  /** The redirect of a payment whose postback is lost: nobody knows of it but the payer and the service. */
  paySilently(billId: string, input?: PayInput): Promise<Redirect>;
  /** Runs the workers by hand until none has anything to do at the present time. */
  settle(): Promise<void>;
  /** Lets time pass, then runs the workers. */
  elapse(ms: number): Promise<void>;
  /** As often as it takes until no callback waits any more: a claim that the service does not show is asked for again. */
  settleHints(): Promise<void>;
  /**
   * Remembers payments, bills, events, deliveries, reviews and orders. The function it returns lets all hints be
   * answered, then asserts that nothing of these has changed.
   */
  watch(): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** A database in which the sample shop has started before. */
const SHOP_TABLES: DatabaseTemplate = {
  name: 'shop',
  async fill(url) {
    process.env.DATABASE_URL = url;
    const dataSource = await openDatabase(databaseOptions() as DataSourceOptions);
    await migratePaymentAcceptance(dataSource).finally(() => dataSource.destroy());
  },
};

export interface AttackedShopOptions {
  /** Workers run by themselves. Default `false`: a test drives them. */
  autoStart?: boolean;
  /** What the module is told beyond the sample shop's own settings. */
  options?: Partial<PaymentAcceptanceOptions>;
  /** Puts something between the shop and the sandbox: gets the sandbox's address, and returns what the shop calls. */
  service?: (sandboxUrl: string) => Promise<string>;
  /** Before the application listens: what a host puts around the shop. */
  prepare?: (app: INestApplication) => unknown;
}

export async function startAttackedShop(
  adapter: Adapter,
  { autoStart = false, options = {}, service, prepare }: AttackedShopOptions = {},
): Promise<AttackedShop> {
  const database = await createTestDatabase(SHOP_TABLES);
  const running = await startPaymentSandbox({
    logger: false,
    postbackRetryDelays: [],
    shops: { 'demo-main': { apiToken: TOKENS.main }, 'demo-eu': { apiToken: TOKENS.eu } },
  });
  const { sandbox } = running;
  // As the program reads them; each spec file has an environment of its own.
  process.env.DATABASE_URL = database.url;
  process.env.SANDBOX_URL = (await service?.(running.url)) ?? running.url;
  const clock = new ManualPaymentClock();
  const logs = new LogRecorder();
  const module = await Test.createTestingModule({ imports: [AppModule] })
    .setLogger(logs)
    .overrideProvider(PaymentClock)
    .useValue(clock)
    .overrideProvider(paymentsConfig.KEY)
    .useValue({
      ...paymentsConfig(),
      autoStart,
      ...options,
      // A page that waits for a check which the test has yet to run would only wait.
      callbacks: { ...(!autoStart && { resultWaitMs: 1 }), ...options.callbacks },
      schedule: { jitterPercent: 0, ...options.schedule },
    } satisfies PaymentAcceptanceOptions)
    .compile();
  const app = module.createNestApplication(await shopAdapter(adapter), { logger: logs, forceCloseConnections: true });
  configureShop(app);
  await prepare?.(app);
  await app.listen(0, '127.0.0.1');
  const url = `http://127.0.0.1:${((app.getHttpServer() as Server).address() as AddressInfo).port}`;
  for (const [id, suffix] of [
    ['demo-main', ''],
    ['demo-eu', '/eu'],
  ] as const) {
    await sandbox.putShop(id, {
      successUrl: `${url}/redirect/payment/success${suffix}`,
      failUrl: `${url}/redirect/payment/fail${suffix}`,
      resultUrl: `${url}/postback/payment${suffix}`,
    });
  }
  const dataSource = await forTestSql(app.get(DataSource));
  const confirmer = app.get(Confirmer);
  const deliveries = app.get(DeliveryWorker);

  async function settle(): Promise<void> {
    await sandbox.settled();
    while ((await confirmer.runOnce()) + (await deliveries.runOnce()) > 0);
  }
  async function elapse(ms: number): Promise<void> {
    clock.advance(ms);
    await settle();
  }
  async function settleHints(): Promise<void> {
    await settle();
    // The pauses of `schedule.lagMs`, and as many more as the time between two checks of one bill can put off.
    for (const pauseMs of [3_000, 10_000, 30_000, 3_000, 10_000, 30_000]) {
      const rows = await dataSource.query<object[]>(
        'SELECT 1 FROM payment_acceptance.callback WHERE pending AND bill_id IS NOT NULL LIMIT 1',
      );
      if (rows.length === 0) return;
      await elapse(pauseMs);
    }
  }
  async function redirectOf(billId: string, input: PayInput | undefined): Promise<Redirect> {
    const { redirect } = await sandbox.pay(billId, input);
    await sandbox.settled();
    if (!redirect) throw new Error('This payment sends nobody back to the shop.');
    return redirect;
  }
  return {
    url,
    app,
    sandbox,
    sandboxUrl: running.url,
    databaseUrl: database.url,
    dataSource,
    clock,
    confirmer,
    deliveries,
    logs,
    async buy({ amount = '100.05', ...input } = {}) {
      const answer = await postJson(`${url}/api/orders`, { amount, ...input });
      if (answer.status !== 201) throw new Error(`POST /api/orders: ${answer.status} ${await answer.text()}`);
      return (await answer.json()) as Bought;
    },
    order: async (id) => (await (await fetch(`${url}/api/orders/${id}`)).json()) as OrderView,
    ledger: () => app.get(PaymentOperations).readLedger(),
    requests: () => sandbox.requests.length,
    pay: redirectOf,
    async paySilently(billId, input) {
      await sandbox.setFaults({ postbacks: { drop: 1 } });
      return redirectOf(billId, input).finally(() => sandbox.clearFaults());
    },
    settle,
    elapse,
    settleHints,
    async watch() {
      await settleHints();
      const before = await stateOf(dataSource);
      return async () => {
        await settleHints();
        expect(await stateOf(dataSource)).toEqual(before);
      };
    },
    async close() {
      await app.close();
      await running.close();
      await database.drop();
    },
  };
}
