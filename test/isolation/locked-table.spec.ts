import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DataSource, type QueryRunner } from 'typeorm';
import { connectionOf, forTestSql, ON_MARIADB } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postJson } from '../support/http.js';
import { until } from '../support/until.js';

const STORE_MS = 200;
const STATEMENT_MS = 900;

describe('a lock that somebody else holds on the table of callbacks', () => {
  let harness: Harness;
  let outside: DataSource;
  let holder: QueryRunner;
  let billId: string;

  beforeEach(async () => {
    harness = await startHarness({
      options: {
        callbacks: { storeTimeoutMs: STORE_MS },
        creation: { storeTimeoutMs: STORE_MS },
        statementTimeoutMs: STATEMENT_MS,
      },
    });
    billId = (await harness.host.payments.createBill({ orderId: 'order-1', amount: '10' })).billId;
    outside = await forTestSql(await new DataSource(connectionOf(harness.databaseUrl)).initialize());
    holder = outside.createQueryRunner();
    await holder.startTransaction();
    await holder.query(
      ON_MARIADB
        ? 'LOCK TABLES payment_acceptance.callback WRITE'
        : 'LOCK TABLE payment_acceptance.callback IN ACCESS EXCLUSIVE MODE',
    );
  });
  afterEach(async () => {
    await holder.release();
    await outside.destroy();
    await harness.close();
  });

  async function letGo(): Promise<void> {
    if (ON_MARIADB) await holder.query('UNLOCK TABLES');
    await holder.rollbackTransaction();
  }

  const post = async (): Promise<number> => {
    const fields = postbackFields({ InvId: 'order-1', OutSum: '10.00', TrsId: billId, Status: 'SUCCESS' });
    return (await postJson(`${harness.host.url}/postback/payment`, fields)).status;
  };

  /** Sessions of the host that wait for the lock. */
  async function waiting(): Promise<number> {
    const rows = await outside.query<unknown[]>(
      ON_MARIADB
        ? `SELECT id FROM information_schema.processlist WHERE db = current_database() AND state LIKE 'Waiting for table%lock'`
        : `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return rows.length;
  }

  test('a locked callback table takes at most two connections, and further callbacks get 503 at once', async () => {
    for (let sent = 0; sent < 12; sent += 1) expect(await post()).toBe(503);
    expect(await waiting()).toBeLessThanOrEqual(2);
    expect(await harness.host.dataSource.query('SELECT 1 AS one')).toHaveLength(1);
    await letGo();
    expect(await until(post, (status) => status === 200)).toBe(200);
  });

  test('a locked callback table does not delay createBill, and takes at most two connections', async () => {
    const orders = ['a', 'b', 'c', 'd', 'e', 'f'];
    const bills = await Promise.all(
      orders.map((orderId) => harness.host.payments.createBill({ orderId, amount: '10' })),
    );
    expect(bills.map((bill) => bill.orderId)).toEqual(orders);
    expect(await waiting()).toBeLessThanOrEqual(2);
    await letGo();
  });

  test('statements that time out behind a locked table are ended, and the pool is whole again', async () => {
    expect(await Promise.all([post(), post()])).toEqual([503, 503]);
    expect(await waiting()).toBeGreaterThan(0);
    await until(waiting, (sessions) => sessions === 0);
    const runners = Array.from({ length: 10 }, () => harness.host.dataSource.createQueryRunner());
    await Promise.all(runners.map((runner) => runner.connect()));
    await Promise.all(runners.map((runner) => runner.release()));
    await letGo();
    expect(await until(post, (status) => status === 200)).toBe(200);
    expect((await harness.host.ledger()).callbacks).toHaveLength(1);
  });
});
