import { expect, test } from '@jest/globals';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { closing } from '../support/closing.js';
import { onPostgres } from '../support/database.js';
import { startHarness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import { until } from '../support/until.js';
import { programOf, startOwnServer } from './support/own-server.js';

const program = programOf('/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer');
const onPgBouncer = program === undefined ? test.skip : onPostgres(test);

const closeLater = closing();

/** A pooler that gives each transaction a free one of three connections. */
async function startPgBouncer(server: URL) {
  const connect = async (url: string) => {
    const client = new pg.Client({ connectionString: sameDatabase(server, url), connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    await client.connect();
    await client.end();
  };
  return startOwnServer(
    program ?? '',
    (folder, port) => {
      const { hostname, port: behind, username, password } = server;
      const secret = password === '' ? '' : ` password=${decodeURIComponent(password)}`;
      const user = process.getuid?.() === 0 ? ['-u', 'nobody'] : [];
      chmodSync(folder, 0o755);
      writeFileSync(
        join(folder, 'pgbouncer.ini'),
        `[databases]
* = host=${hostname} port=${behind || '5432'} user=${username}${secret}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
max_client_conn = 500
`,
      );
      return { args: [...user, join(folder, 'pgbouncer.ini')] };
    },
    connect,
    'postgres',
  );
}

function sameDatabase(database: URL, pooler: string): string {
  const url = new URL(pooler);
  url.username = database.username;
  url.pathname = database.pathname;
  return url.href;
}

onPgBouncer(
  `payments settle behind a PgBouncer in transaction mode, by polling${program ? '' : ' (there is no pgbouncer to start)'}`,
  async () => {
    const pooler = await startPgBouncer(new URL(process.env.TEST_DATABASE_URL ?? ''));
    closeLater(() => pooler.close());
    const harness = await startHarness({
      through: (databaseUrl) => sameDatabase(new URL(databaseUrl), pooler.url),
      instances: 2,
      providers: [EffectWriter],
      options: { autoStart: true, pollMs: 50 },
    });
    closeLater(() => harness.close());
    const orders = Array.from({ length: 60 }, (_, index) => `order-${index}`);
    await Promise.all(
      orders.map(async (orderId, index) => {
        const { billId } = await harness.instances[index % 2]!.payments.createBill({ orderId, amount: '10' });
        await harness.sandbox.pay(billId, { outcome: 'fail' });
        await harness.sandbox.pay(billId);
      }),
    );
    await harness.sandbox.settled();
    const effects = await until(
      () => harness.effects(),
      (all) => all.length >= 2 * orders.length,
    );
    const told = effects.map(({ orderId, event }) => `${orderId} ${event}`).sort();
    expect(told).toEqual(orders.flatMap((order) => [`${order} payment.failed`, `${order} payment.succeeded`]).sort());
    const { callbacks, reviews } = await harness.host.ledger();
    expect([callbacks.length, reviews.length]).toEqual([2 * orders.length, 0]);
  },
);
