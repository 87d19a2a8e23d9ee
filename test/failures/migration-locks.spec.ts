import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { migrateMaria } from '../../libs/payment-acceptance/src/database/mariadb/migrate.js';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { migratePostgres } from '../../libs/payment-acceptance/src/database/postgres/migrate.js';
import { ON_MARIADB } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';

describe('locks of a migration', () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.close());

  test('a migration kept from its lock by a long query fails within seconds, and does not block payments', async () => {
    const { dataSource, app } = harness.host;
    const report = dataSource.createQueryRunner();
    await report.startTransaction();
    await report.query('SELECT count(*) FROM payment_acceptance.bill');
    const next = {
      version: 99,
      name: 'next',
      statements: ['ALTER TABLE payment_acceptance.bill ADD COLUMN next integer'],
    };
    const migrate = ON_MARIADB ? migrateMaria : migratePostgres;
    const migrating = migrate(app.get(Database), () => Promise.resolve([next]));
    await expect(migrating).rejects.toThrow(/lock timeout|Lock wait timeout/i);
    await harness.host.payments.createBill({ orderId: 'beside', amount: '10' });
    await report.commitTransaction();
    await report.release();
  }, 30_000);
});
