import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { until } from '../../../../../test/support/until.js';
import { PaymentClock } from '../../common/clock.js';
import { migratePaymentAcceptance } from '../../database/migrate.js';
import { ShopStore } from './shop.store.js';
import { PostgresDatabase } from '../../database/postgres/postgres.database.js';
import { beside } from '../../../../../test/support/beside.js';

let testDatabase: TestDatabase;
let dataSource: DataSource;

describe('shop.store on PostgreSQL', () => {
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    dataSource = await new DataSource({ type: 'postgres', url: testDatabase.url }).initialize();
    await migratePaymentAcceptance(dataSource);
  });
  afterAll(async () => {
    await dataSource.destroy();
    await testDatabase.drop();
  });

  test('two first starts that register the same shops in another order do not block each other', async () => {
    const first = dataSource.createQueryRunner();
    const add = (shop: string) =>
      first.query(`INSERT INTO payment_acceptance.shop_state (shop, next_request_at) VALUES ($1, now())`, [shop]);
    await first.startTransaction();
    await add('a');
    // If they block each other, the server fails the first one, which is not repeated.
    const patient = `${testDatabase.url}?options=-c%20deadlock_timeout%3D30s`;
    const other = await new DataSource({ type: 'postgres', url: patient }).initialize();
    const second = new ShopStore(new PostgresDatabase(beside(other), new PaymentClock())).register(['b', 'a']);
    await until(
      () => dataSource.query<unknown[]>(`SELECT 1 FROM pg_locks WHERE NOT granted`),
      (waiting) => waiting.length > 0,
    );
    const outcome = await Promise.allSettled([add('b').then(() => first.commitTransaction()), second]);
    expect(outcome.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled']);
    await first.release();
    await other.destroy();
    expect(await dataSource.query('SELECT shop FROM payment_acceptance.shop_state ORDER BY shop')).toEqual([
      { shop: 'a' },
      { shop: 'b' },
    ]);
  });
});
