import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { Controller, Get, Injectable, Module, type DynamicModule } from '@nestjs/common';
import { HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { PaymentConfigurationError, PaymentNonRetryableError, OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator, PaymentOperations, type PaymentHealth } from 'nestjs-payment-acceptance/operations';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { DataSource } from 'typeorm';
import { DatabaseProxy } from '../isolation/history/database-proxy.js';
import { startHarness, type Harness } from '../support/harness.js';
import { connectionOf, ON_MARIADB } from '../support/database.js';
import { until } from '../support/until.js';

let healthy = true;

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take(): Promise<void> {
    return healthy ? Promise.resolve() : Promise.reject(new PaymentNonRetryableError('the stock is unknown'));
  }
}

@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly payments: PaymentHealthIndicator,
  ) {}

  @Get()
  any() {
    return this.health.check([() => this.payments.isHealthy('payments', { timeoutMs: 500 })]);
  }

  @Get('terminus-12')
  native() {
    return this.health.check([() => this.payments.isHealthy('payments', { degradedStatus: 'degraded' })]);
  }
}

@Module({})
class HealthModule {}
const hosted: DynamicModule = { module: HealthModule, imports: [TerminusModule], controllers: [HealthController] };

let harness: Harness;
let payments: PaymentHealthIndicator;
let proxy: DatabaseProxy | undefined;

describe('health', () => {
  beforeAll(async () => {
    harness = await startHarness({
      imports: [hosted],
      providers: [Orders],
      options: { http: { attempts: 1 } },
      through: async (databaseUrl) => (proxy ??= await DatabaseProxy.open(databaseUrl)).url,
    });
    payments = harness.host.app.get(PaymentHealthIndicator);
  });
  afterAll(async () => {
    await harness.close();
    await proxy?.close();
  });
  beforeEach(() => {
    healthy = true;
  });

  async function get(path = '') {
    const answer = await fetch(`${harness.host.url}/health${path}`);
    const body = (await answer.json()) as { status: string; details: { payments: PaymentHealth } };
    return { http: answer.status, status: body.status, payments: body.details.payments };
  }

  /** The tables are read at most once a second. */
  const reading = (fits: (health: PaymentHealth) => boolean) =>
    until(async () => (await payments.isHealthy('payments')).payments, fits);

  describe('through @nestjs/terminus', () => {
    test('an undefined health threshold is the default, and one that is no number is refused', async () => {
      const limits = { deadLetters: undefined, timeoutMs: undefined } as object;
      expect((await payments.isHealthy('payments', limits)).payments).toMatchObject({ status: 'up', degraded: [] });
      await expect(payments.isHealthy('payments', { deadLetters: NaN })).rejects.toThrow(
        'deadLetters: must be a number',
      );
      expect(await payments.isHealthy('payments', { timeoutMs: Infinity })).toMatchObject({
        payments: { status: 'up' },
      });
      await expect(payments.isHealthy('payments', { timeoutMs: -1 })).rejects.toThrow(PaymentConfigurationError);
    });

    test('health is 200 and up, without a secret, when all is well', async () => {
      const { http, status, payments: details } = await get();
      expect([http, status]).toEqual([200, 'ok']);
      expect(details).toMatchObject({
        status: 'up',
        degraded: [],
        database: { reachable: true },
        workers: { checks: 'not-started', deliveries: 'not-started' },
        backlog: { deadLetters: 0, oldestCheckMs: null, refusedShops: [] },
      });
      expect(JSON.stringify(details)).not.toContain('token');
    });

    test('health is 200 but degraded by a dead letter, also with Terminus 12', async () => {
      healthy = false;
      const { billId } = await harness.host.payments.createBill({ orderId: 'dead', amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      await reading(({ degraded }) => degraded.includes('dead-letters'));
      expect(await get()).toMatchObject({
        http: 200,
        status: 'ok',
        payments: { status: 'up', degraded: ['dead-letters'] },
      });
      expect(await get('/terminus-12')).toMatchObject({
        http: 200,
        status: 'degraded',
        payments: { status: 'degraded' },
      });
      expect((await payments.isHealthy('p', { deadLetters: 2 })).p.degraded).toEqual([]);
      healthy = true;
      await harness.host.app.get(PaymentOperations).replay({}, { operator: 'ann' });
      await harness.settle();
      await reading(({ degraded }) => degraded.length === 0);
    });

    test('health is 503 and down within its timeout if the database does not answer, and recovers', async () => {
      const silent = proxy!;
      silent.onStatement = () => silent.arm('swallow request', () => true);
      try {
        const down = await until(
          () => get(),
          ({ http }) => http === 503,
        );
        expect(down).toMatchObject({
          status: 'error',
          payments: { status: 'down', database: { reachable: false, error: expect.stringContaining('within 500 ms') } },
        });
      } finally {
        silent.onStatement = () => undefined;
        silent.disarm();
        silent.release();
      }
      expect(await reading(({ status }) => status === 'up')).toMatchObject({ database: { reachable: true } });
    });

    test('health has an error code for connections closed meanwhile', async () => {
      const cutting = proxy!;
      cutting.onStatement = () => cutting.arm('cut before', () => true);
      try {
        const { payments: down } = await until(
          () => get(),
          ({ http }) => http === 503,
        );
        const error = ON_MARIADB ? 'PROTOCOL_CONNECTION_LOST' : 'connection-lost';
        expect(down).toMatchObject({ status: 'down', database: { reachable: false, error } });
      } finally {
        cutting.onStatement = () => undefined;
        cutting.disarm();
      }
      await reading(({ status }) => status === 'up');
    });

    test('health is 200 but degraded if its figures cannot be read in time', async () => {
      const other = await new DataSource(connectionOf(harness.databaseUrl)).initialize();
      const blocker = other.createQueryRunner();
      await blocker.query(
        ON_MARIADB
          ? 'LOCK TABLES payment_acceptance_review WRITE'
          : 'BEGIN; LOCK TABLE payment_acceptance.review IN ACCESS EXCLUSIVE MODE',
      );
      try {
        const unknown = await until(
          () => get(),
          (health) => health.payments.degraded.length > 0,
        );
        expect(unknown).toMatchObject({
          http: 200,
          payments: {
            status: 'up',
            degraded: ['backlog-unknown'],
            database: { reachable: true, error: expect.stringMatching(/within \d+ ms/) },
          },
        });
        expect(unknown.payments.backlog).toBeUndefined();
      } finally {
        await blocker.release();
        await other.destroy();
      }
      await reading(({ degraded }) => degraded.length === 0);
    });
  });

  describe('reasons of degraded health', () => {
    test('health is degraded by a service that does not answer three requests, until it answers again', async () => {
      const degradations = async () => (await payments.isHealthy('payments')).payments.degraded;
      const { billId } = await harness.host.payments.createBill({ orderId: 'silent', amount: '10' });
      // A kept connection may just be closed by the server, whose limit of idleness is as long as the test before.
      const isAnswered = () =>
        harness.host.payments.listPayments(billId).then(
          () => true,
          () => false,
        );
      await until(isAnswered, Boolean);
      await harness.sandbox.setFaults({ requests: { status500: 1 } });
      for (const expected of [[], [], ['service-not-answering']]) {
        await expect(harness.host.payments.listPayments(billId)).rejects.toMatchObject({ code: 'service-unavailable' });
        expect(await degradations()).toEqual(expected);
      }
      await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
      await expect(harness.host.payments.listPayments(billId)).rejects.toMatchObject({ code: 'bill-not-found' });
      await harness.sandbox.clearFaults();
      expect(await degradations()).toEqual([]);
      const { service } = (await payments.isHealthy('payments')).payments;
      expect(service).toEqual({
        [new URL(harness.sandboxUrl).host]: {
          lastAnswerAt: expect.any(String),
          lastFailureAt: expect.any(String),
          failuresInARow: 0,
        },
      });
    });

    test('health is not degraded by a service that nothing has asked since it failed an hour ago', async () => {
      const { billId } = await harness.host.payments.createBill({ orderId: 'moved', amount: '10' });
      await harness.sandbox.setFaults({ requests: { status500: 1 } });
      for (const _time of [1, 2, 3]) await harness.host.payments.listPayments(billId).catch(() => undefined);
      await harness.sandbox.clearFaults();
      const degradations = async () => (await payments.isHealthy('payments')).payments.degraded;
      expect(await degradations()).toContain('service-not-answering');
      harness.clock.advance(3_600_001);
      expect(await degradations()).not.toContain('service-not-answering');
    });

    test('health is degraded by overdue checks, and by a shop that the service refuses', async () => {
      for (const orderId of ['refused-1', 'refused-2', 'refused-3']) {
        await harness.host.payments.createBill({ orderId, amount: '10' });
      }
      harness.clock.advance(6 * 60_000);
      expect((await reading(({ degraded }) => degraded.length > 0)).degraded).toEqual(['checks-overdue']);
      await harness.sandbox.setFaults({ requests: { unauthenticated: 1 } });
      await harness.settle();
      await harness.sandbox.clearFaults();
      const { degraded, backlog } = await reading((health) => health.degraded.includes('shops-refused'));
      expect(degraded).toContain('shops-refused');
      expect(backlog?.refusedShops).toEqual(['main']);
    });
  });

  test('concurrent and subsequent health checks share one read of the tables', async () => {
    let reads = 0;
    const probe = harness.host.app.get(PaymentProbe);
    const reached = probe.reached.bind(probe);
    probe.reached = (point) => {
      if (point === 'before SELECT payment_acceptance.shop_state') reads += 1;
      reached(point);
    };
    await Promise.all(Array.from({ length: 200 }, () => payments.isHealthy('payments')));
    expect(reads).toBeLessThanOrEqual(1);
    for (let index = 0; index < 20; index += 1) await payments.isHealthy('payments');
    probe.reached = reached;
    expect(reads).toBeLessThan(20);
  });

  test('health reports running workers', async () => {
    const running = await harness.start({ options: { autoStart: true } });
    const indicator = running.app.get(PaymentHealthIndicator);
    expect((await indicator.isHealthy('p')).p.workers).toEqual({ checks: 'running', deliveries: 'running' });
  });
});

describe('a shop whose payments no consumer takes', () => {
  @Injectable()
  class MainOrders {
    @OnPaymentSucceeded({ consumer: 'orders', shops: ['main'] })
    take(): void {}
  }

  test('a payment that no consumer takes degrades health for an hour', async () => {
    const { host, sandbox, clock, settle, close } = await startHarness({ providers: [MainOrders] });
    try {
      const degraded = async () =>
        (await host.app.get(PaymentHealthIndicator).isHealthy('payments')).payments.degraded.filter(
          (reason) => reason === 'events-without-consumer',
        );
      for (const shop of ['main', 'eu'] as const) {
        expect(await degraded()).toEqual([]);
        const { billId } = await host.payments.shop(shop).createBill({ orderId: 'paid', amount: '10' });
        await sandbox.pay(billId);
        await settle();
      }
      expect(await degraded()).toEqual(['events-without-consumer']);
      clock.advance(3_600_000);
      expect(await degraded()).toEqual([]);
    } finally {
      await close();
    }
  });
});
