import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import pg from 'pg';
import { PaymentClock } from '../../libs/payment-acceptance/src/common/clock.js';
import type { Connection } from '../../libs/payment-acceptance/src/database/connection-source.js';
import { openPgPool, type PgPoolClass } from '../../libs/payment-acceptance/src/database/pool-source.js';
import { PostgresDatabase } from '../../libs/payment-acceptance/src/database/postgres/postgres.database.js';
import { createTestDatabase, onPostgres } from '../support/database.js';
import { HOST_TABLES } from '../support/harness.js';
import { until } from '../support/until.js';

/** The code of a CancelRequest, after its length, in the first packet of a connection. */
const CANCEL_REQUEST = 80_877_102;

/**
 * Like PgBouncer: takes a request to cancel only while the connection that it concerns is open, and keeps the server's
 * side of a closed one until its statement has ended.
 */
async function startPooler(port: number) {
  const open = new Set<Socket>();
  const all: Socket[] = [];
  const server = net.createServer((client) => {
    all.push(client);
    client.on('error', () => undefined);
    client.once('data', (first: Buffer) => {
      const isCancel = first.length === 16 && first.readInt32BE(4) === CANCEL_REQUEST;
      if (isCancel && open.size === 0) return void client.destroy();
      if (!isCancel) open.add(client.once('close', () => open.delete(client)));
      const upstream = net.connect(port, '127.0.0.1');
      all.push(upstream);
      upstream.on('error', () => undefined);
      upstream.write(first);
      client.on('data', (data: Buffer) => upstream.write(data));
      upstream.on('data', (data: Buffer) => !client.destroyed && client.write(data));
      upstream.on('end', () => client.end());
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of all) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

onPostgres(describe)('a connection through a pooler', () => {
  let database: Awaited<ReturnType<typeof createTestDatabase>>;
  let admin: pg.Client;
  beforeEach(async () => {
    database = await createTestDatabase(HOST_TABLES);
    admin = new pg.Client(database.url);
    await admin.connect();
  });
  afterEach(async () => {
    await admin.end();
    await database.drop();
  });

  test('a statement is ended at the server when its connection is destroyed', async () => {
    const address = new URL(database.url);
    const pooler = await startPooler(Number(address.port || 5432));
    address.hostname = '127.0.0.1';
    address.port = String(pooler.port);
    const source = openPgPool(pg.Pool as unknown as PgPoolClass, { connectionString: address.href }, 1);
    const connection: Connection = await source.connect();
    const sleeping = (connection as pg.PoolClient).query('SELECT pg_sleep(60)').catch(() => undefined);
    const sleepers = async () =>
      (await admin.query(`SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'SELECT pg_sleep%'`))
        .rowCount;
    await until(sleepers, (count) => count === 1);
    await new PostgresDatabase(source, new PaymentClock()).destroy(connection);
    expect(await until(sleepers, (count) => count === 0)).toBe(0);
    await sleeping;
    source.release(connection, true);
    await source.close();
    await pooler.close();
  });
});
