import { Injectable } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  OnPaymentSucceeded,
  PaymentNonRetryableError,
  PaymentOrderNotFoundError,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { commandsOf, environmentOf, runCommand, type Commands } from '../support/commands.js';
import { createTestDatabase } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take({ orderId }: PaymentSucceededEvent): Promise<void> {
    if (orderId === 'dead') return Promise.reject(new PaymentNonRetryableError('the stock is unknown'));
    if (orderId === 'orderless') return Promise.reject(new PaymentOrderNotFoundError('there is no such order'));
    return Promise.resolve();
  }
}

let harness: Harness;
let commands: Commands;

/** All rows of the module's tables. */
async function tables(): Promise<Record<string, unknown[]>> {
  const { dataSource } = harness.host;
  const names: { name: string }[] =
    dataSource.options.type === 'postgres'
      ? await dataSource.query(`SELECT table_name AS name FROM information_schema.tables
          WHERE table_schema = 'payment_acceptance' AND table_type = 'BASE TABLE' ORDER BY 1`)
      : await dataSource.query(`SELECT table_name AS name FROM information_schema.tables
          WHERE table_schema = database() AND table_name LIKE 'payment\\_acceptance\\_%' ORDER BY 1`);
  const prefix = dataSource.options.type === 'postgres' ? 'payment_acceptance.' : '';
  const rows: Record<string, unknown[]> = {};
  for (const { name } of names) {
    const found: unknown[] = await dataSource.query(`SELECT * FROM ${prefix}${name}`);
    rows[name] = found.map((row) => JSON.stringify(row)).sort();
  }
  return rows;
}

describe('cli --dry-run', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [Orders] });
    commands = commandsOf(harness);
    const bill = (billId: string) => ({ orderId: billId, billId, amount: '10', createdAt: new Date().toISOString() });
    commands.file('bills.json', JSON.stringify([bill('old-1')]));
    for (const orderId of ['dead', 'orderless']) {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId);
    }
    await harness.settle();
  });
  afterAll(async () => {
    commands.close();
    await harness.close();
  });

  test.each([
    ['migrate', { migrated: false, dryRun: true, migrations: [] }],
    ['replay --all', { dryRun: true, replayed: 2 }],
    ['replay --order other', { dryRun: true, replayed: 0 }],
    ['deliver --consumer orders', { dryRun: true, made: 0 }],
    ['import @bills.json', { dryRun: true, imported: 1, present: 0, refused: [] }],
    ['replay --order orderless', { dryRun: true, replayed: 1 }],
    ['recover --since 2026-01-01T00:00:00Z', expect.objectContaining({ dryRun: true })],
  ])('%s --dry-run says what would happen, and changes nothing', async (line, document) => {
    const args = line.split(' ').map((word) => (word.startsWith('@') ? commands.file(word.slice(1)) : word));
    const before = await tables();
    expect(Object.values(before).flat().length).toBeGreaterThan(10);
    expect(await commands.json(...args, '--dry-run')).toEqual({ code: 0, document });
    expect(await tables()).toEqual(before);
  });

  test.each([
    [
      'a shop and an address that the application does not have',
      { SHOPS: 'main,eu,typo', API_BASE_URL: 'https://sandbox.example' },
      '"database": "reachable"',
    ],
    ["a shopId other than the application's", { MAIN_SHOP_ID: 'typo' }, 'shops.main.shopId: the tables have'],
  ])('no CLI command writes %s into the tables', async (_what, settings, said) => {
    const typo = { TYPO_SHOP_ID: 'typo', TYPO_API_TOKEN: 'typo', ...settings };
    const env = environmentOf(harness);
    for (const [name, value] of Object.entries(typo)) env[`PAYMENT_ACCEPTANCE_${name}`] = value;
    const before = await tables();
    const ran = await runCommand(['status', '--json'], env);
    expect(ran.out + ran.err).toContain(said);
    expect(await tables()).toEqual(before);
  });

  test('replay does what its --dry-run has said', async () => {
    expect(await commands.json('replay', '--all')).toEqual({ code: 0, document: { dryRun: false, replayed: 2 } });
  });

  test('migrate --dry-run lists the pending migrations, and creates no table', async () => {
    const database = await createTestDatabase();
    try {
      const env = { DATABASE_URL: database.url };
      const first = await runCommand(['migrate', '--dry-run'], env);
      expect(first).toMatchObject({
        code: 0,
        out: expect.stringMatching(/^1 {2}initial\n1 migration would run\.\n$/),
      });
      expect(await runCommand(['migrate', '--dry-run'], env)).toEqual(first);
      await runCommand(['migrate'], env);
      expect(await runCommand(['migrate', '--dry-run'], env)).toMatchObject({ out: 'The tables are up to date.\n' });
    } finally {
      await database.drop();
    }
  });
});
