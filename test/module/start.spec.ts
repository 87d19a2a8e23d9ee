import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { getDataSourceToken } from '@nestjs/typeorm';
import {
  migratePaymentAcceptance,
  PaymentAcceptanceModule,
  PaymentAcceptanceService,
  PaymentConfigurationError,
  type PaymentAcceptanceExtras,
  type PaymentAcceptanceOptions,
} from 'nestjs-payment-acceptance';
import { PaymentSchemaBehindError } from 'nestjs-payment-acceptance/operations';
import pg from 'pg';
import type { DataSource } from 'typeorm';
import { readLedger } from '../support/ledger.js';
import { moduleOptions } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { createdBill } from '../support/recorded-harness.js';
import { Recorder } from '../support/recorder.js';
import { Starting } from '../support/starting.js';

const SAFE = 'https://api.example';
const environment = process.env.NODE_ENV;
const starting = new Starting();

describe('start', () => {
  const closeLater = closing();
  afterEach(async () => {
    process.env.NODE_ENV = environment;
    await starting.close('drop');
  });

  const root = (options: Partial<PaymentAcceptanceOptions> = {}, extras: PaymentAcceptanceExtras = {}) =>
    PaymentAcceptanceModule.forRoot({ ...moduleOptions(SAFE, options), ...extras });

  async function tablesIn(dataSource: DataSource): Promise<string[]> {
    const rows: { name: string }[] = await dataSource.query(
      `SELECT schemaname || '.' || tablename AS name FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    );
    return rows.map(({ name }) => name);
  }

  describe('outside production', () => {
    test('the module creates its tables by itself, only in a schema of its own', async () => {
      const module = await starting.start([root()]);
      const tables = await tablesIn(module.get<DataSource>(getDataSourceToken(), { strict: false }));
      expect(tables).toContain('payment_acceptance.bill');
      expect(tables.filter((table) => !table.startsWith('payment_acceptance.'))).toEqual([]);
      expect((await readLedger(module)).bills).toEqual([]);
    });

    test('several hosts that start at once on an empty database migrate in turns', async () => {
      const modules = await Promise.all([1, 2, 3].map(() => starting.start([root()])));
      for (const module of modules) {
        expect((await readLedger(module)).bills).toEqual([]);
      }
    });

    test('with migrations: "verify" a start does not change the database', async () => {
      await expect(starting.start([root({ migrations: 'verify' })])).rejects.toThrow(PaymentSchemaBehindError);
      expect(await tablesIn(await starting.dataSource())).toEqual([]);
    });
  });

  describe('with NODE_ENV=production', () => {
    beforeEach(() => {
      process.env.NODE_ENV = 'production';
    });

    test('in production missing tables fail the start, and migratePaymentAcceptance creates them', async () => {
      const failing = starting.start([root()]);
      await expect(failing).rejects.toThrow(PaymentSchemaBehindError);
      await expect(failing).rejects.toThrow(
        /run npx payment-acceptance migrate, or call migratePaymentAcceptance\(dataSource\)/,
      );
      const dataSource = await starting.dataSource();
      expect(await tablesIn(dataSource)).toEqual([]);
      await Promise.all([migratePaymentAcceptance(dataSource), migratePaymentAcceptance(dataSource)]);
      await migratePaymentAcceptance(dataSource);
      const module = await starting.start([root()]);
      expect(module.get(PaymentAcceptanceService, { strict: false }).shop().name).toBe('main');
    });

    test.each([
      ['an http address', { apiBaseUrl: 'http://api.example' }, 'apiBaseUrl: is not https'],
      [
        'an address of this machine',
        { apiBaseUrl: 'https://127.0.0.1:3000' },
        'apiBaseUrl: is the address of this machine',
      ],
      ['a token of the sandbox', { apiToken: 'sandbox-token-0123456789' }, 'apiToken: is a sandbox token'],
    ])('in production %s fails the start', async (_name, shop, problem) => {
      const { main } = moduleOptions(SAFE).shops;
      const failing = starting.start([root({ shops: { main: { ...main!, ...shop } }, migrations: 'run' })]);
      await expect(failing).rejects.toThrow(PaymentConfigurationError);
      await expect(failing).rejects.toThrow(`shops.main.${problem}`);
      expect(await tablesIn(await starting.dataSource())).toEqual([]);
    });
  });

  test('an unknown role is refused when the module is registered', () => {
    expect(() => root({}, { role: 'worker' as 'workers' })).toThrow(
      'role: must be "all" or "callbacks" or "workers" (given: string).',
    );
  });

  describe('the data source', () => {
    test('the module uses the data source named in its options', async () => {
      const module = await starting.start([root({}, { dataSource: 'orders' })], { name: 'orders' });
      const tables = await tablesIn(module.get<DataSource>(getDataSourceToken('orders'), { strict: false }));
      expect(tables).toContain('payment_acceptance.bill');
    });

    test('a data source that does not exist fails the start', async () => {
      await expect(starting.start([root({}, { dataSource: 'orders' })])).rejects.toThrow(
        /TypeORM data source "orders"/,
      );
    });

    test.each([{ poolSize: 1 }, { extra: { max: 1 } }, { poolSize: 20, extra: { max: 1 } }])(
      'a data source with a pool of %j is too small, and fails the start',
      async (dataSource) => {
        const failing = starting.start([root()], { dataSource });
        await expect(failing).rejects.toThrow(PaymentConfigurationError);
        await expect(failing).rejects.toThrow("Raise the pool's size");
      },
    );

    test('a start without a free connection on the server fails with what to raise', async () => {
      const own = await starting.dataSource();
      const role = `one_connection_${process.pid}`;
      await own.query(`CREATE ROLE ${role} LOGIN PASSWORD 'one' CONNECTION LIMIT 1`);
      try {
        const url = new URL(await starting.url());
        url.username = role;
        url.password = 'one';
        const failing = starting.start([root({ migrations: 'verify' })], { dataSource: { url: url.href } });
        await expect(failing).rejects.toThrow(
          /^The server has no connections left .* Raise max_connections on the server/,
        );
      } finally {
        await starting.close('keep');
        await (await starting.dataSource()).query(`DROP ROLE ${role}`);
      }
    });

    test('a pool of two suffices, or of one in a host that runs no handlers', async () => {
      await starting.start([root()], { dataSource: { poolSize: 2 } });
      await starting.start([root({}, { role: 'callbacks' })], { dataSource: { poolSize: 1 } });
    });

    test("type parsers of the host's data source do not affect the module", async () => {
      const own = new Set<number>([
        pg.types.builtins.INT8,
        pg.types.builtins.NUMERIC,
        pg.types.builtins.JSON,
        pg.types.builtins.JSONB,
        pg.types.builtins.TIMESTAMP,
        pg.types.builtins.TIMESTAMPTZ,
      ]);
      const getTypeParser = (oid: number, format: string): unknown =>
        own.has(oid)
          ? () => 'not what was stored'
          : (pg.types.getTypeParser as (...of: unknown[]) => unknown)(oid, format);
      const recorder = await new Recorder().open();
      closeLater(() => recorder.close());
      recorder.answer(createdBill('bill-1'));
      const { main } = moduleOptions(recorder.url).shops;
      const module = await starting.start([root({ shops: { main: main! } })], {
        dataSource: { extra: { types: { getTypeParser } } },
      });
      const payments = module.get(PaymentAcceptanceService, { strict: false });
      await payments.createBill({ orderId: 'A-1', amount: '100.05' });
      expect(await payments.findBills('A-1')).toMatchObject([
        {
          state: 'OPEN',
          amount: '100.05',
          createdAt: expect.any(Date) as unknown,
          openedAt: expect.any(Date) as unknown,
        },
      ]);
      expect((await readLedger(module)).bills).toMatchObject([
        { amount: '100.05', createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as unknown },
      ]);
    });
  });
});
