import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable, Module, type INestApplication, type Provider } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import mysql from 'mysql2/promise';
import {
  OnPaymentSucceeded,
  PaymentAcceptanceModule,
  PaymentAcceptanceService,
  PaymentConfigurationError,
  PaymentWorkers,
  type PaymentAcceptanceOptions,
  type PaymentEventContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { mysql2Transactions } from 'nestjs-payment-acceptance/mysql2';
import { pgTransactions } from 'nestjs-payment-acceptance/pg';
import { inspect } from 'node:util';
import pg from 'pg';
import { ON_MARIADB } from '../support/database.js';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { until } from '../support/until.js';

interface HostPool {
  query(statement: string): Promise<unknown>;
  end(): Promise<void>;
}

const poolOf = (url: string): HostPool =>
  ON_MARIADB
    ? mysql.createPool({ uri: url.replace('mariadb:', 'mysql:'), connectionLimit: 4 })
    : new pg.Pool({ connectionString: url, max: 4 }).on('error', () => undefined);
const transactionsOf = (pool: HostPool) =>
  ON_MARIADB ? mysql2Transactions(pool as mysql.Pool) : pgTransactions(pool as unknown as pg.Pool);

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async take({ orderId }: PaymentSucceededEvent, { tx }: PaymentEventContext<HostPool>): Promise<void> {
    const columns = ON_MARIADB ? 'paymentId, orderId' : '"paymentId", "orderId"';
    await tx.query(`INSERT INTO effect (consumer, event, ${columns}) VALUES ('orders', 'e', 'p', '${orderId}')`);
  }
}

/** Before an idle connection would be closed anyway. */
const SOON_MS = 3_000;

@Module({})
class Root {}

describe('the option storage, in an application without a TypeORM data source', () => {
  let harness: Harness;
  let pool: HostPool;
  let app: INestApplication | undefined;

  beforeEach(async () => {
    harness = await startHarness();
    pool = poolOf(harness.databaseUrl);
    app = undefined;
  });
  afterEach(async () => {
    await app?.close();
    await pool.end();
    await harness.close();
  });

  async function start(
    options: Partial<PaymentAcceptanceOptions>,
    providers: Provider[] = [Orders],
  ): Promise<INestApplication> {
    const module = await Test.createTestingModule({
      imports: [PaymentAcceptanceModule.forRoot(moduleOptions(harness.sandboxUrl, options))],
      providers,
    }).compile();
    const made = module.createNestApplication({ logger: false, forceCloseConnections: true });
    try {
      await made.init();
    } catch (error) {
      await made.close();
      throw error;
    }
    return (app = made);
  }
  const failureOf = (options: Partial<PaymentAcceptanceOptions>, providers?: Provider[]): Promise<string> =>
    start(options, providers).then(
      () => 'started',
      (error: unknown) => {
        expect(error).toBeInstanceOf(PaymentConfigurationError);
        return String(error);
      },
    );

  describe.each<[string, () => PaymentAcceptanceOptions['storage']]>([
    ['an address', () => ({ url: harness.databaseUrl })],
    ['a pool of the host', () => ({ pool })],
  ])('storage given as %s', (_what, storage) => {
    test('a payment is created, settled and delivered without TypeORM, with handlers in transactions of the host', async () => {
      const host = await start({ storage: storage(), transactions: transactionsOf(pool) });
      const { billId } = await host.get(PaymentAcceptanceService).createBill({ orderId: 'A', amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
      const workers = host.get(PaymentWorkers);
      await until(
        async () => {
          await harness.host.confirmer.runOnce();
          await workers.deliveries.runOnce();
          return harness.effects();
        },
        (effects) => effects.length === 1,
      );
      expect((await harness.host.ledger()).events[0]!.deliveries).toMatchObject([{ state: 'DONE', attempts: 1 }]);
    });
  });

  test('the module closes what it opened on shutdown or a failed start, but not the pool of the host', async () => {
    const sessions = async (): Promise<string[]> => {
      const rows = await harness.host.dataSource.query<{ id: unknown }[]>(
        ON_MARIADB
          ? `SELECT ID AS id FROM information_schema.PROCESSLIST WHERE DB = DATABASE()`
          : `SELECT pid AS id FROM pg_stat_activity WHERE datname = current_database()`,
      );
      return rows.map(({ id }) => String(id));
    };
    const before = await sessions();
    const failing = NestFactory.createApplicationContext(
      {
        module: Root,
        imports: [
          PaymentAcceptanceModule.forRoot(moduleOptions(harness.sandboxUrl, { storage: { url: harness.databaseUrl } })),
        ],
        providers: [Orders],
      },
      { logger: false, abortOnError: false },
    );
    await expect(failing).rejects.toThrow('transactions: set the data layer');
    // Nest calls no hook of a shutdown after it.
    await until(sessions, (open) => open.every((id) => before.includes(id)), SOON_MS);

    await start({ storage: { url: harness.databaseUrl } }, []);
    const opened = (await sessions()).filter((id) => !before.includes(id));
    expect(opened.length).toBeGreaterThan(0);
    await app!.close();
    await until(sessions, (open) => !opened.some((id) => open.includes(id)));
    await start({ storage: { pool } }, []);
    await app!.close();
    await pool.query('SELECT 1');
  });

  test('printing the application does not show the address of the database', async () => {
    const host = await start({ storage: { url: harness.databaseUrl } }, []);
    expect(inspect(host, { depth: 8 })).not.toContain(harness.databaseUrl);
  });

  test('a start without storage and without TypeORM says what to write', async () => {
    expect(await failureOf({})).toContain('set the database in the option storage');
  });

  test('a start with a handler but without the option transactions is refused', async () => {
    const error = await failureOf({ storage: { url: harness.databaseUrl } });
    expect(error).toContain('transactions: set the data layer in whose transactions the handlers run');
  });

  test.each<[PaymentAcceptanceOptions['storage'], string]>([
    [{ url: 'sqlite://x' }, 'storage.url: must be an address that starts with postgres://'],
    [{ url: 'postgres://x', pool: { getConnection: () => undefined } }, 'storage: set either url or pool.'],
    [{ url: 'mysql://app:pa/ss@db/shop' }, 'storage.url: must be an address'],
    [{ pool: {} }, 'storage.pool: must be a pool of pg or mysql2.'],
    [{ pool: null as never }, 'storage.pool: must be a pool of pg or mysql2.'],
    [{ url: undefined }, 'storage: set either url or pool.'],
    [{ connections: 1 }, 'storage.connections: must be a whole number from 2 to 1000'],
  ])('the option storage %j is refused', async (storage, told) => {
    expect(await failureOf({ storage })).toContain(told);
  });
});
