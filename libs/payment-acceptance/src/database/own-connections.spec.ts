import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { createTestDatabase, ON_MARIADB, onPostgres, type TestDatabase } from '../../../../test/support/database.js';
import { mysql2Transactions } from '../data-layers/mysql2.js';
import { onOwnConnections } from './own-connections.js';

onPostgres(describe)("transactions on a host's pool", () => {
  let database: TestDatabase;
  let pool: pg.Pool;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = new pg.Pool({ connectionString: database.url, max: 1 }).on('error', () => undefined);
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  test('a connection whose statement is never answered gives its place in the pool of the host back', async () => {
    const transactions = onOwnConnections(pool, async (client, work) => {
      await client.query('SELECT pg_sleep(3600)');
      return work(client);
    });
    const run = transactions.run(() => Promise.resolve(), { signal: new AbortController().signal, timeoutMs: 1 });
    await expect(run).rejects.toThrow('within');
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });

  test('a connection that cannot be rolled back never returns to the pool', async () => {
    const session = async () => (await pool.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]!.pid;
    const before = await session();
    pool.once('acquire', (client: pg.PoolClient) => {
      const send = client.query.bind(client) as (...given: unknown[]) => unknown;
      const query = (statement: { text?: string }, done: (error: Error) => void): unknown =>
        statement.text === 'ROLLBACK' ? setImmediate(done, new Error('not sent')) : send(statement, done);
      Object.assign(client, { query });
    });
    const transactions = onOwnConnections(pool, async (client, work) => {
      await client.query('BEGIN');
      return work(client);
    });
    const limits = { signal: new AbortController().signal, timeoutMs: 1_000 };
    await expect(transactions.run(() => Promise.reject(new Error('half-way')), limits)).rejects.toThrow('half-way');
    expect(await session()).not.toBe(before);
  });

  test('onOwnConnections listens to a pool only once, however often it is called', () => {
    const listeners = () => ['error', 'acquire'].map((event) => pool.listenerCount(event));
    onOwnConnections(pool, (client, work) => work(client));
    const before = listeners();
    for (let times = 0; times < 20; times += 1) onOwnConnections(pool, (client, work) => work(client));
    expect(listeners()).toEqual(before);
  });

  test('transactions on a pool of the host survive that the server ends an idle session', async () => {
    const transactions = onOwnConnections(pool, (client, work) => work(client));
    await transactions.run(() => Promise.resolve(), { signal: new AbortController().signal, timeoutMs: 1_000 });
    const removed = new Promise((resolve) => pool.once('remove', resolve));
    const other = new pg.Client(database.url);
    await other.connect();
    await other.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()',
    );
    await other.end();
    await removed;
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  });
});

(ON_MARIADB ? describe : describe.skip)("transactions on a host's pool of mysql2", () => {
  let database: TestDatabase;
  let pool: mysql.Pool;
  beforeAll(async () => {
    database = await createTestDatabase();
    pool = mysql.createPool({ uri: database.url.replace('mariadb:', 'mysql:'), connectionLimit: 1 });
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  test.each(['commit', 'roll back', 'are ended by their work'])(
    'transactions on a mysql2 pool of the host leave the session as it was when they %s',
    async (end) => {
      const settings = async () =>
        (await pool.query('SELECT CONNECTION_ID(), @@autocommit, @@SESSION.idle_transaction_timeout'))[0];
      const before = await settings();
      const transactions = mysql2Transactions<mysql.PoolConnection>(pool);
      const work = async (tx: mysql.PoolConnection): Promise<void> => {
        if (end === 'roll back') throw new Error('not yet');
        if (end !== 'commit') await tx.query('ROLLBACK');
      };
      const at = { signal: new AbortController().signal, timeoutMs: 5_000 };
      const run = transactions.run(work, at);
      await run.catch(() => undefined);
      expect(await settings()).toEqual(before);
    },
  );
});
