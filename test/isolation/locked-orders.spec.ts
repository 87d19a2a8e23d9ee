import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DataSource, type QueryRunner } from 'typeorm';
import { connectionOf, forTestSql, ON_MARIADB } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { until } from '../support/until.js';

const SICK = ['a', 'b', 'c', 'd', 'e', 'f'];

describe('locks that somebody else holds on orders', () => {
  let harness: Harness;
  let outside: DataSource;
  let holder: QueryRunner;

  beforeEach(async () => {
    harness = await startHarness();
    outside = await forTestSql(await new DataSource(connectionOf(harness.databaseUrl)).initialize());
    holder = outside.createQueryRunner();
  });
  afterEach(async () => {
    await holder.release();
    await outside.destroy();
    await harness.close();
  });

  /** Statements of the host that wait for a lock. */
  async function waiting(): Promise<number> {
    const rows = await outside.query<unknown[]>(
      ON_MARIADB
        ? `SELECT id FROM information_schema.processlist
           WHERE db = current_database() AND command = 'Query' AND info LIKE '%shop_order%' AND id <> connection_id()`
        : `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length;
  }

  test('payments of locked orders hold at most half of the connections, and other orders are paid meanwhile', async () => {
    for (const orderId of SICK) {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId);
    }
    await harness.sandbox.settled();
    await holder.startTransaction('READ COMMITTED');
    await holder.query('SELECT * FROM payment_acceptance.shop_order FOR UPDATE');
    const checking = harness.host.confirmer.runOnce();
    await until(waiting, (statements) => statements >= 2);
    for (let number = 0; number < 5; number += 1) {
      await harness.host.payments.createBill({ orderId: `healthy-${number}`, amount: '10' });
      expect(await waiting()).toBe(2);
    }
    await holder.rollbackTransaction();
    await checking;
    await harness.settle();
    const paid = (await harness.host.ledger()).bills.filter(({ state }) => state === 'PAID');
    expect(paid.map(({ orderId }) => orderId).sort()).toEqual(SICK);
  });
});
