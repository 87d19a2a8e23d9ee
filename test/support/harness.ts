import { Module, type DynamicModule, type INestApplication, type Provider } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { EventEmitterModule } from '@nestjs/event-emitter';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import { Confirmer } from '../../libs/payment-acceptance/src/settlement/confirmer.js';
import { DeliveryWorker } from '../../libs/payment-acceptance/src/events/delivery.worker.js';
import { ManualPaymentClock, PaymentClock, PaymentRandom } from 'nestjs-payment-acceptance/testing';
import {
  PaymentAcceptanceModule,
  PaymentAcceptanceService,
  migratePaymentAcceptance,
  type PaymentAcceptanceExtras,
  type PaymentAcceptanceOptions,
  type PaymentShopOptions,
} from 'nestjs-payment-acceptance';
import { startPaymentSandbox, type PaymentSandbox, type StartOptions } from 'nestjs-payment-sandbox';
import { Column, DataSource, Entity, PrimaryGeneratedColumn, type Logger as TypeOrmLogger } from 'typeorm';
import { withConstants, type TestedOptions } from './options.js';
import { readLedger, type PaymentLedger } from './ledger.js';
import { ON_MARIADB, connectionOf, createTestDatabase, forTestSql, type DatabaseTemplate } from './database.js';

export const MAIN_TOKEN = 'main-token-0123456789abcdef';
export const EU_TOKEN = 'eu-token-0123456789abcdef';

/** A row that a test's durable handler writes through its manager. */
@Entity()
export class Effect {
  @PrimaryGeneratedColumn() id!: number;
  @Column() consumer!: string;
  @Column() event!: string;
  @Column() paymentId!: string;
  @Column() orderId!: string;
}

/** A database in which a host with {@link Effect}s, and the module, have already been started once. */
export const HOST_TABLES: DatabaseTemplate = {
  name: 'host',
  async fill(url) {
    const dataSource = new DataSource({ ...connectionOf(url), entities: [Effect], synchronize: true });
    await dataSource.initialize();
    await migratePaymentAcceptance(dataSource).finally(() => dataSource.destroy());
  },
};

export interface HarnessOptions {
  /** Instances of the host application on one database. Default 1. */
  instances?: number;
  adapter?: 'express' | 'fastify' | (() => AbstractHttpAdapter);
  /** The host's providers, with handlers and listeners. */
  providers?: Provider[];
  imports?: DynamicModule[];
  /** Imported before the payment module. */
  importsBefore?: DynamicModule[];
  /** The host's entities, besides {@link Effect}. */
  entities?: (new () => object)[];
  options?: TestedOptions;
  /** The module's only shop, instead of both. */
  only?: 'main' | 'eu';
  extras?: PaymentAcceptanceExtras;
  sandbox?: StartOptions;
  /** Replaces the module's randomness. */
  random?: PaymentRandom;
  /** Pool size of each instance. Default: the driver's, 10. */
  poolSize?: number;
  /** Is told of every statement that TypeORM logs, and of each as a slow one, too. */
  logger?: TypeOrmLogger;
  /** `driver` of the data source on PostgreSQL, if it is not plain `pg`. */
  driver?: unknown;
  /** Another address of the same database, such as a pooler's. Called for each instance. */
  through?: (databaseUrl: string) => string | Promise<string>;
  /** Nest's option. */
  rawBody?: boolean;
  /** Called before the application listens: for a global prefix, pipes, guards. */
  prepare?: (app: INestApplication) => void;
}

/** One or more host applications on one database, with the sandbox as their payment acceptance service. */
export interface Harness {
  readonly sandbox: PaymentSandbox;
  readonly sandboxUrl: string;
  readonly databaseUrl: string;
  readonly clock: ManualPaymentClock;
  readonly instances: readonly Instance[];
  /** The first instance. */
  readonly host: Instance;
  /** Runs the workers of all instances until none has anything to do at the current time. */
  settle(): Promise<void>;
  /** Starts another instance of the host on the same database. */
  start(
    options?: Pick<HarnessOptions, 'providers' | 'imports' | 'importsBefore' | 'options' | 'only' | 'extras'>,
  ): Promise<Instance>;
  effects(): Promise<Effect[]>;
  close(): Promise<void>;
}

export interface Instance {
  readonly url: string;
  readonly app: INestApplication;
  readonly payments: PaymentAcceptanceService;
  readonly confirmer: Confirmer;
  readonly deliveries: DeliveryWorker;
  readonly dataSource: DataSource;
  ledger(): Promise<PaymentLedger>;
}

export async function startHarness(options: HarnessOptions = {}): Promise<Harness> {
  const database = await createTestDatabase(HOST_TABLES);
  const running = await startPaymentSandbox({
    postbackRetryDelays: [],
    ...options.sandbox,
    shops: {
      'shop-main': { apiToken: MAIN_TOKEN },
      'shop-eu': { apiToken: EU_TOKEN },
      ...options.sandbox?.shops,
    },
  });
  const clock = new ManualPaymentClock();
  const instances: Instance[] = [];
  const start: Harness['start'] = async (more = {}) => {
    const instance = await startInstance({ ...options, ...more }, database.url, running.url, clock);
    instances.push(instance);
    return instance;
  };
  for (let count = options.instances ?? 1; count > 0; count -= 1) await start();
  const host = instances[0] as Instance;
  await setCallbacks(running.sandbox, host.url, options.extras?.routes?.path ?? '');
  return {
    sandbox: running.sandbox,
    sandboxUrl: running.url,
    databaseUrl: database.url,
    clock,
    instances,
    host,
    start,
    async settle() {
      await running.sandbox.settled();
      for (let work = 1; work > 0;) {
        work = 0;
        for (const { confirmer, deliveries, dataSource } of instances) {
          if (!dataSource.isInitialized) continue;
          work += await confirmer.runOnce();
          work += await deliveries.runOnce();
        }
      }
    },
    effects: () => host.dataSource.getRepository(Effect).find({ order: { id: 'ASC' } }),
    async close() {
      for (const { app } of instances) await app.close();
      await running.close();
      await database.drop();
    },
  };
}

/** Makes the sandbox's two shops call this host; `main` is its default shop. */
export async function setCallbacks(sandbox: PaymentSandbox, url: string, prefix = ''): Promise<void> {
  const base = [url, prefix].filter(Boolean).join('/');
  for (const [id, suffix] of [
    ['shop-main', ''],
    ['shop-eu', '/eu'],
  ] as const) {
    await sandbox.putShop(id, {
      successUrl: `${base}/redirect/payment/success${suffix}`,
      failUrl: `${base}/redirect/payment/fail${suffix}`,
      resultUrl: `${base}/postback/payment${suffix}`,
    });
  }
}

/** The module's options for the sandbox's two shops. Workers do not run until a test runs them. */
export function moduleOptions(
  sandboxUrl: string,
  more: TestedOptions = {},
): PaymentAcceptanceOptions & { shops: Record<string, PaymentShopOptions> } {
  const shops = {
    main: { shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl: sandboxUrl, requestsPerSecond: 1000 },
    eu: { shopId: 'shop-eu', apiToken: EU_TOKEN, apiBaseUrl: sandboxUrl, currency: 'EUR', requestsPerSecond: 1000 },
  };
  const options = withConstants({
    autoStart: false,
    ...more,
    // The result page must not wait for a check that the test has yet to run.
    callbacks: { resultWaitMs: 1, ...more.callbacks },
    schedule: { jitterPercent: 0, ...more.schedule },
  });
  return { ...options, shops: more.shops ?? shops };
}

@Module({})
class HostModule {}

function adapterOf(adapter: HarnessOptions['adapter']): AbstractHttpAdapter {
  if (typeof adapter === 'function') return adapter();
  return adapter === 'fastify' ? new FastifyAdapter() : new ExpressAdapter();
}

async function startInstance(
  options: HarnessOptions,
  databaseUrl: string,
  sandboxUrl: string,
  clock: ManualPaymentClock,
): Promise<Instance> {
  const given = moduleOptions(sandboxUrl, options.options);
  const { only } = options;
  const shops = only ? { [only]: given.shops[only]! } : given.shops;
  const url = (await options.through?.(databaseUrl)) ?? databaseUrl;
  const builder = Test.createTestingModule({
    imports: [
      {
        module: HostModule,
        imports: [
          TypeOrmModule.forRoot({
            ...connectionOf(url),
            ...(!ON_MARIADB && { driver: options.driver }),
            poolSize: options.poolSize,
            ...(options.logger && { logger: options.logger, maxQueryExecutionTime: -1 }),
            entities: [Effect, ...(options.entities ?? [])],
          }),
          EventEmitterModule.forRoot(),
          ...(options.importsBefore ?? []),
          // Nest takes only named options from forRoot: the constants are under a symbol.
          PaymentAcceptanceModule.forRootAsync({ useFactory: () => ({ ...given, shops }), ...options.extras }),
          ...(options.imports ?? []),
        ],
        providers: options.providers ?? [],
      },
    ],
  })
    .overrideProvider(PaymentClock)
    .useValue(clock);
  if (options.random) builder.overrideProvider(PaymentRandom).useValue(options.random);
  const module = await builder.compile();
  const adapter = adapterOf(options.adapter);
  const app = module.createNestApplication(adapter, {
    ...{ logger: false, forceCloseConnections: true },
    ...(options.rawBody && { rawBody: true }),
  });
  options.prepare?.(app);
  try {
    await app.listen(0, '127.0.0.1');
  } catch (error) {
    // A failed start leaves its connections open.
    await app.close();
    throw error;
  }
  const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    app,
    payments: app.get(PaymentAcceptanceService),
    confirmer: app.get(Confirmer),
    deliveries: app.get(DeliveryWorker),
    dataSource: await forTestSql(app.get(DataSource)),
    ledger: () => readLedger(app),
  };
}
