import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PaymentTransactionsError, type PaymentTransactions } from 'nestjs-payment-acceptance';
import { mysql2Transactions } from 'nestjs-payment-acceptance/mysql2';
import { pgTransactions } from 'nestjs-payment-acceptance/pg';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { createTestDatabase, ON_MARIADB, onPostgres, type TestDatabase } from '../support/database.js';
import { HOST_TABLES, startHarness, type Harness } from '../support/harness.js';

function transactionsOn(url: string): { transactions: PaymentTransactions; close: () => Promise<void> } {
  if (ON_MARIADB) {
    const pool = mysql.createPool({ uri: url.replace('mariadb:', 'mysql:'), connectionLimit: 2 });
    return { transactions: mysql2Transactions(pool), close: () => pool.end() };
  }
  const pool = new pg.Pool({ connectionString: url, max: 2 }).on('error', () => undefined);
  return { transactions: pgTransactions(pool), close: () => pool.end() };
}

describe('the option transactions is verified at start', () => {
  let harness: Harness;
  let other: TestDatabase;
  let close: () => Promise<void>;
  const start = (transactions: PaymentTransactions): Promise<unknown> =>
    harness.start({ options: { transactions } }).then(
      () => 'started',
      (error: unknown) => error,
    );

  beforeEach(async () => {
    harness = await startHarness();
    other = await createTestDatabase(HOST_TABLES);
    close = () => Promise.resolve();
  });
  afterEach(async () => {
    await harness.close();
    await close();
    await other.drop();
  });

  test('transactions on another database with the same tables are refused at start', async () => {
    const there = transactionsOn(other.url);
    ({ close } = there);
    const error = await start(there.transactions);
    expect(error).toBeInstanceOf(PaymentTransactionsError);
    expect(String(error)).toContain('points to a different database');
  });

  test('transactions that cannot begin are refused at start, with the reason', async () => {
    const here = transactionsOn(harness.databaseUrl);
    ({ close } = here);
    const error = await start({ ...here.transactions, run: () => Promise.reject(new Error('no such role')) });
    expect(error).toBeInstanceOf(PaymentTransactionsError);
    expect(String(error)).toContain('no such role');
  });

  onPostgres(test)('transactions at another isolation level are refused at start', async () => {
    const pool = new pg.Pool({
      connectionString: harness.databaseUrl,
      options: '-c default_transaction_isolation=serializable',
    }).on('error', () => undefined);
    close = () => pool.end();
    const plain: PaymentTransactions<pg.PoolClient> = {
      placeholders: '$1',
      async run(work) {
        const client = await pool.connect();
        await client.query('BEGIN');
        try {
          return await work(client);
        } finally {
          await client.query('ROLLBACK');
          client.release();
        }
      },
      query: async (client, sql, values) => {
        const { rows, rowCount } = await client.query<object>(sql, [...values]);
        return { rows, rowCount: rowCount ?? 0 };
      },
    };
    const error = await start(plain);
    expect(String(error)).toContain('isolation level serializable');
  });
});
