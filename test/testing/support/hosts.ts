import { afterAll, afterEach, beforeAll, beforeEach, jest } from '@jest/globals';
import { Logger, type DynamicModule, type INestApplication } from '@nestjs/common';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { startPaymentTesting, type PaymentTesting } from 'nestjs-payment-acceptance/testing';
import { createTestDatabase, type TestDatabase } from '../../support/database.js';
import { AppModule, Checkout } from '../host.js';

interface HostOptions {
  module?: DynamicModule;
  imports?: DynamicModule[];
  prefix?: string;
  adapter?: FastifyAdapter;
}

/** The hosts of a test, closed after it, and what pays for their orders. */
export class Hosts {
  readonly apps: INestApplication[] = [];
  private payments!: PaymentTesting;

  constructor(private readonly database: () => TestDatabase) {}

  get url(): string {
    return this.database().url;
  }

  async startPayments(): Promise<PaymentTesting> {
    return (this.payments = await startPaymentTesting());
  }

  /** Creates the application without attaching it. */
  async create({ module, imports = [], prefix, adapter }: HostOptions = {}): Promise<INestApplication> {
    const builder = Test.createTestingModule({ imports: [module ?? AppModule.with(this.url), ...imports] });
    const made = await this.payments.override(builder).compile();
    const options = { forceCloseConnections: true };
    const app = adapter ? made.createNestApplication(adapter, options) : made.createNestApplication(options);
    if (prefix !== undefined) app.setGlobalPrefix(prefix);
    this.apps.push(app);
    return app;
  }

  async start(options?: HostOptions): Promise<Checkout> {
    const app = await this.create(options);
    await this.payments.attach(app);
    return app.get(Checkout, { strict: false });
  }

  async close(): Promise<void> {
    for (const app of this.apps.splice(0)) await app.close();
    await this.payments.close();
  }
}

/** Hosts on one database. Call this in a `describe`. */
export function hostsOfTests(): Hosts {
  let database: TestDatabase;
  const hosts = new Hosts(() => database);
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(() => {
    jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  });
  afterEach(async () => {
    await hosts.close();
    jest.restoreAllMocks();
  });
  return hosts;
}
