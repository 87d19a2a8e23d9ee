import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/postgres-js';
import { drizzleTransactions } from 'nestjs-payment-acceptance/drizzle';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import postgres from 'postgres';
import { createTestDatabase, ON_MARIADB, type TestDatabase } from '../support/database.js';
import { until } from '../support/until.js';

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

  test('transactions on postgres.js work again after no connection could be made or opened', async () => {
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

  test('drizzleTransactions refuses a client without its options and a connection count that is no positive integer', async () => {
    const client = postgres(database.url);
    const transactions = drizzleTransactions(
      () => client,
      (single) => drizzle(single),
    );
    await expect(transactions.run((tx) => tx.execute(sql.raw('SELECT 1')), LIMITS)).rejects.toThrow(
      'Pass the options on',
    );
    await client.end();
    for (const connections of [0, -1, 1.5]) {
      const make = () => drizzleTransactions(() => client, drizzle, { connections });
      expect(make).toThrow('connections must be a whole number from 1.');
    }
  });

  test('transactions on postgres.js end with their attempt while they connect to a server that lets nobody in', async () => {
    const server = createServer((socket) => socket.end()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const transactions = twoConnections();
    address = `postgres://127.0.0.1:${(server.address() as AddressInfo).port}/none`;
    const controller = new AbortController();
    const limits = { signal: controller.signal, timeoutMs: 30_000 };
    const runs = [1, 2, 3].map(() => transactions.run((tx) => tx.execute(sql.raw('SELECT 1')), limits));
    await once(server, 'connection');
    controller.abort(new Error('no more time'));
    expect(await Promise.allSettled(runs)).toMatchObject([1, 2, 3].map(() => ({ status: 'rejected' })));
    expect(transactions.pool!.free()).toBe(2);
    server.close();
  });

  test('transactions on postgres.js close a connection that is idle, and open another', async () => {
    address = `${database.url}?application_name=idling`;
    const transactions = twoConnections();
    const read = () => transactions.run((tx) => tx.execute(sql.raw('SELECT 1 AS one')), LIMITS);
    await read();
    const client = postgres(database.url, { max: 1 });
    const idling = () => client`SELECT 1 FROM pg_stat_activity WHERE application_name = 'idling'`;
    await until(idling, ({ count }) => count === 1);
    await until(idling, ({ count }) => count === 0);
    await client.end();
    await expect(Promise.all([read(), read(), read()])).resolves.toHaveLength(3);
  });

  test('a statement that was not awaited goes to no other connection if its own is lost', async () => {
    address = database.url;
    await postgres(database.url, { max: 1, idle_timeout: 1 }).unsafe('CREATE TABLE IF NOT EXISTS late (what text)');
    const transactions = twoConnections();
    const ended = transactions.run(async (tx) => {
      const [row] = await tx.execute(sql`SELECT pg_backend_pid() AS pid`);
      const writes = Array.from({ length: 20 }, (_, number) =>
        tx.execute(sql`INSERT INTO late VALUES (${`w-${number}`})`).then(
          () => undefined,
          () => undefined,
        ),
      );
      const killer = postgres(database.url, { max: 1 });
      await killer`SELECT pg_terminate_backend(${Number(row!.pid)})`;
      await killer.end();
      await Promise.all(writes);
    }, LIMITS);
    await expect(ended).rejects.toThrow();
    const rows = await transactions.run((tx) => tx.execute(sql.raw('SELECT * FROM late')), LIMITS);
    expect([...rows]).toEqual([]);
  });

  test('transactions on postgres.js share and reuse the connections there are', async () => {
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
