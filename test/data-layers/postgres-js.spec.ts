import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import { drizzleTransactions } from 'nestjs-payment-acceptance/drizzle';
import postgres from 'postgres';
import { createTestDatabase, ON_MARIADB, type TestDatabase } from '../support/database.js';

const NOWHERE = 'postgres://127.0.0.1:1/none';
const LIMITS = { signal: new AbortController().signal, timeoutMs: 30_000 };

(ON_MARIADB ? describe.skip : describe)('transactions of Drizzle on postgres.js', () => {
  let database: TestDatabase;
  let address: string;
  let opened = 0;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());

  const twoConnections = () =>
    drizzleTransactions(
      (options) => {
        opened += 1;
        if (address === '') throw new Error('no address yet');
        return postgres(address, options);
      },
      (client) => drizzle(client),
      { connections: 2 },
    );

  test('are had again after no connection could be made or opened', async () => {
    const transactions = twoConnections();
    const read = () => transactions.run((tx) => tx.execute(sql.raw('SELECT 1 AS one')), LIMITS);
    address = '';
    for (let times = 0; times < 3; times += 1) await expect(read()).rejects.toThrow('no address yet');
    address = NOWHERE;
    for (let times = 0; times < 3; times += 1) await expect(read()).rejects.toThrow();
    address = database.url;
    expect(transactions.pool!.free()).toBe(2);
    await expect(Promise.all([read(), read(), read()])).resolves.toHaveLength(3);
  });

  test('share the connections there are, and use them again', async () => {
    const transactions = twoConnections();
    address = database.url;
    opened = 0;
    const pids = await Promise.all(
      Array.from({ length: 8 }, () =>
        transactions.run(async (tx) => {
          const [row] = await tx.execute(sql.raw('SELECT pg_backend_pid() AS pid'));
          return row!.pid;
        }, LIMITS),
      ),
    );
    expect({ opened, sessions: new Set(pids).size }).toEqual({ opened: 2, sessions: 2 });
    expect(transactions.pool!.free()).toBe(2);
  });
});
