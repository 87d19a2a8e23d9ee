import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable, Module, type DynamicModule, type OnApplicationBootstrap } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { TypeOrmModule } from '@nestjs/typeorm';
import {
  OnPaymentSucceeded,
  PaymentAcceptanceModule,
  PaymentWorkers,
  type PaymentAcceptanceExtras,
} from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator } from 'nestjs-payment-acceptance/operations';
import { DataSource } from 'typeorm';
import { connectionOf } from '../support/database.js';
import { Effect, moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import { until } from '../support/until.js';

let harness: Harness;
const AUTO = { autoStart: true, pollMs: 10 };

describe('start of the workers', () => {
  afterEach(() => harness.close());

  /** Leaves a delivery and a check that are due. */
  async function leaveWork(): Promise<void> {
    harness = await startHarness({ providers: [EffectWriter] });
    for (const orderId of ['settled', 'paid']) {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
      if (orderId === 'settled') await harness.host.confirmer.runOnce();
    }
  }

  const done = () =>
    until(
      () => harness.effects(),
      (effects) => effects.length === 2,
    );

  /** The application's modules, as a host writes them. */
  const rootOf = (extras: PaymentAcceptanceExtras): DynamicModule => ({
    module: Root,
    imports: [
      TypeOrmModule.forRoot({ ...connectionOf(harness.databaseUrl), entities: [Effect] }),
      PaymentAcceptanceModule.forRoot({ ...moduleOptions(harness.sandboxUrl, AUTO), ...extras }),
    ],
    providers: [EffectWriter],
  });

  test('workers start after every bootstrap hook of the application, in modules imported before and after', async () => {
    await leaveWork();
    const ended: string[] = [];
    const seen: string[][] = [];
    const slow = (name: string): DynamicModule => {
      @Injectable()
      class Cache implements OnApplicationBootstrap {
        constructor(private readonly dataSource: DataSource) {}
        async onApplicationBootstrap(): Promise<void> {
          for (let read = 0; read < 300; read += 1) await this.dataSource.query('SELECT 1');
          ended.push(name);
        }
      }
      return { module: Slow, providers: [Cache] };
    };
    @Injectable()
    class Orders extends EffectWriter {
      @OnPaymentSucceeded({ consumer: 'cached' })
      see(): void {
        seen.push([...ended]);
      }
    }
    await harness.start({
      importsBefore: [slow('before')],
      imports: [slow('after')],
      providers: [Orders],
      options: AUTO,
    });
    await done();
    await until(
      () => harness.effects().then(() => seen.length),
      (calls) => calls === 1,
    );
    expect(seen).toEqual([['before', 'after']]);
  });

  test('workers of an application that is only initialised do not start, as health says, until started by hand', async () => {
    await leaveWork();
    const module = await Test.createTestingModule({ imports: [rootOf({})] }).compile();
    const app = module.createNestApplication({ logger: false });
    try {
      await app.init();
      const health = async () => (await app.get(PaymentHealthIndicator).isHealthy('p')).p;
      expect(await health()).toMatchObject({
        degraded: expect.arrayContaining(['worker-stalled']),
        workers: { checks: 'not-started', deliveries: 'not-started' },
      });
      app.get(PaymentWorkers).start();
      app.get(PaymentWorkers).start();
      await done();
      expect((await health()).degraded).toEqual([]);
    } finally {
      await app.close();
    }
  });

  test('workers start in an application context with the role "workers", and with no other role', async () => {
    await leaveWork();
    const script = await NestFactory.createApplicationContext(rootOf({}), { logger: false });
    expect((await script.get(PaymentHealthIndicator).isHealthy('p')).p.workers.checks).toBe('not-started');
    await script.close();
    const workers = await NestFactory.createApplicationContext(rootOf({ role: 'workers' }), { logger: false });
    await done().finally(() => workers.close());
  });
});

@Module({})
class Root {}

@Module({})
class Slow {}
