import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, type PaymentEventContext, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator } from 'nestjs-payment-acceptance/operations';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import pg from 'pg';
import type { DataSource, QueryRunner, EntityManager } from 'typeorm';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { cancelStatement } from '../../libs/payment-acceptance/src/database/postgres/cancel-request.js';
import type { PgClient } from '../../libs/payment-acceptance/src/database/postgres/pg-connection.js';
import { ON_MARIADB, onPostgres } from '../support/database.js';
import { Effect, startHarness, type Harness, type Instance } from '../support/harness.js';
import { postbackFields, postJson } from '../support/http.js';
import { until } from '../support/until.js';

const POOL = 10;

/** Takes all connections of the host's pool, one by one: ten that open at once may each take longer than a statement may. */
async function takeHosts(dataSource: DataSource): Promise<QueryRunner[]> {
  const runners = Array.from({ length: POOL }, () => dataSource.createQueryRunner());
  for (const runner of runners) await runner.connect();
  return runners;
}

/** Sends a statement on each connection of the module's; resolves with the first column of each answer. */
async function onEach({ app }: Instance, statement: string): Promise<unknown[]> {
  const database = app.get(Database);
  const { source } = database;
  const taken = await Promise.all(Array.from({ length: source.size }, () => source.connect()));
  const answers = await Promise.all(taken.map((connection) => database.send(connection, statement)));
  for (const connection of taken) source.release(connection, false);
  return answers.map(({ rows: [row] }) => row && Object.values(row)[0]);
}

/** Makes the module's connections read-only, as those to a primary that has been demoted since. */
async function demote(host: Instance): Promise<void> {
  await onEach(host, ON_MARIADB ? 'SET SESSION TRANSACTION READ ONLY' : 'SET default_transaction_read_only = on');
}

async function readOnlyConnections(host: Instance): Promise<number> {
  const asked = ON_MARIADB ? 'SELECT @@SESSION.tx_read_only AS answer' : 'SHOW default_transaction_read_only';
  return (await onEach(host, asked)).filter((answer) => answer === 'on' || answer === 1 || answer === '1').length;
}

describe('connections to a server that has become read-only', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  test('a read-only connection is given up at its first statement or transaction, which is then repeated', async () => {
    harness = await startHarness();
    const { host, sandbox } = harness;
    await demote(host);
    const { billId } = await host.payments.createBill({ orderId: 'statement', amount: '10' });
    expect(await readOnlyConnections(host)).toBe(0);

    await sandbox.pay(billId);
    await sandbox.settled();
    await demote(host);
    await harness.settle();
    expect((await host.ledger()).events).toHaveLength(1);
    expect(await readOnlyConnections(host)).toBe(0);
  });

  onPostgres(test)('a read-only connection is given up by a handler that meets it', async () => {
    @Injectable()
    class Orders {
      static demoted = true;

      @OnPaymentSucceeded({ consumer: 'orders' })
      async take({ name, paymentId, orderId }: PaymentSucceededEvent, { manager }: PaymentEventContext<EntityManager>) {
        if (Orders.demoted) await manager.query('SET TRANSACTION READ ONLY');
        await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
      }
    }
    harness = await startHarness({ providers: [Orders] });
    const { host, sandbox, clock } = harness;
    const { billId } = await host.payments.createBill({ orderId: 'handler', amount: '10' });
    await sandbox.pay(billId);
    await sandbox.settled();
    await host.confirmer.runOnce();
    const opened = await connectionIds(host.dataSource);
    await host.deliveries.runOnce();
    Orders.demoted = false;
    const [delivery] = (await host.ledger()).events[0]!.deliveries;
    expect(delivery).toMatchObject({ state: 'PENDING', attempts: 1 });
    const left = await connectionIds(host.dataSource);
    expect(opened.filter((id) => !left.includes(id))).toHaveLength(1);
    clock.advance(60_000);
    await harness.settle();
    expect(await harness.effects()).toHaveLength(1);
  });

  onPostgres(test)(
    'while new connections are read-only too, callers are told, health is down, and all recovers afterwards',
    async () => {
      harness = await startHarness();
      const { host } = harness;
      const { billId } = await host.payments.createBill({ orderId: 'before', amount: '10' });
      const outside = new pg.Client({ connectionString: harness.databaseUrl });
      await outside.connect();
      const { database } = (await outside.query<{ database: string }>('SELECT current_database() AS database'))
        .rows[0]!;
      const health = async () => (await host.app.get(PaymentHealthIndicator).isHealthy('payments')).payments;
      const postback = async () => {
        const fields = postbackFields({ InvId: 'before', OutSum: '10.00', TrsId: billId });
        return (await postJson(`${host.url}/postback/payment`, fields)).status;
      };
      expect(await health()).toMatchObject({ status: 'up', database: { reachable: true } });

      await outside.query(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
      await demote(host);
      await expect(host.payments.createBill({ orderId: 'meanwhile', amount: '10' })).rejects.toThrow('read-only');
      expect(await postback()).toBe(503);
      const down = await until(health, ({ status }) => status === 'down');
      expect(down.database).toEqual({ reachable: true, readOnly: true, error: 'read-only-database' });

      await outside.query('SET default_transaction_read_only = off');
      await outside.query(`ALTER DATABASE ${database} RESET default_transaction_read_only`);
      await outside.end();
      expect(await postback()).toBe(200);
      await until(health, ({ status }) => status === 'up');
      expect(await readOnlyConnections(host)).toBe(0);
    },
  );

  async function connectionIds(dataSource: DataSource): Promise<number[]> {
    const runners = await takeHosts(dataSource);
    const asked = Promise.all(runners.map((runner) => runner.query('SELECT pg_backend_pid() AS id')));
    const answers = (await asked) as { id: number }[][];
    for (const runner of runners) await runner.release();
    return answers.map(([row]) => row!.id);
  }
});

/** A proxy to the database that can fall silent: it no longer answers, refuses or closes anything. */
class Silence {
  url = '';
  private silent = false;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  private constructor(target: URL) {
    this.server = createServer((client) => {
      this.sockets.add(client);
      client.on('error', () => client.destroy());
      if (this.silent) return void client.resume();
      const upstream = connect(Number(target.port), target.hostname);
      this.sockets.add(upstream);
      upstream.on('error', () => client.destroy());
      upstream.on('close', () => client.destroy());
      client.on('close', () => upstream.destroy());
      client.on('data', (data) => this.silent || upstream.write(data));
      upstream.on('data', (data) => this.silent || client.write(data));
    });
  }

  static async before(databaseUrl: string): Promise<Silence> {
    const silence = new Silence(new URL(databaseUrl));
    await new Promise<void>((resolve) => silence.server.listen(0, '127.0.0.1', resolve));
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${(silence.server.address() as AddressInfo).port}`;
    silence.url = url.href;
    return silence;
  }

  fall(): void {
    this.silent = true;
  }

  /** Another server has the address from now on; sessions to the old one stay silent. */
  end(): void {
    this.silent = false;
    for (const socket of this.sockets) socket.removeAllListeners('data');
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

describe('a server that is gone without closing its connections', () => {
  let harness: Harness;
  let silences: Silence[];

  beforeEach(async () => {
    silences = [];
    harness = await startHarness({
      options: { statementTimeoutMs: 300 },
      through: async (databaseUrl) => {
        const silence = await Silence.before(databaseUrl);
        silences.push(silence);
        return silence.url;
      },
    });
  });
  afterEach(async () => {
    await harness.close();
    for (const silence of silences) await silence.close();
  });

  test('a server that is gone keeps no place of the pool, used or being opened', async () => {
    const { host } = harness;
    await host.payments.createBill({ orderId: 'before', amount: '10' });
    silences[0]!.fall();
    const meanwhile = await Promise.allSettled(
      Array.from({ length: 2 * POOL }, (_, index) =>
        host.payments.createBill({ orderId: `meanwhile-${index}`, amount: '10' }),
      ),
    );
    expect(meanwhile.map(({ status }) => status)).toEqual(Array<string>(2 * POOL).fill('rejected'));
    silences[0]!.end();
    const runners = await takeHosts(host.dataSource);
    await Promise.all(runners.map((runner) => runner.release()));
    await until(
      () => host.payments.createBill({ orderId: 'after', amount: '10' }).catch(() => undefined),
      (bill) => bill !== undefined,
    );
  });

  test('a server that is gone does not hold up a shutdown', async () => {
    const leaving = await harness.start({ options: { statementTimeoutMs: 600_000 } });
    const database = leaving.app.get(Database, { strict: false });
    silences[1]!.fall();
    const hanging = leaving.payments.createBill({ orderId: 'hanging', amount: '10' });
    const end = expect(hanging).rejects.toThrow();
    database.connections.shortenTimeout(100);
    await end;
    await leaving.app.close();
  });
});

describe('cancelling a statement', () => {
  onPostgres(test)("only the session's own secret key cancels its statement", async () => {
    const harness = await startHarness();
    try {
      const { dataSource } = harness.host;
      const runner = dataSource.createQueryRunner();
      const client = (await runner.connect()) as PgClient;
      let ended = false;
      const sleeping = runner.query('SELECT pg_sleep(600)').finally(() => (ended = true));
      const cancelled = expect(sleeping).rejects.toThrow('canceling statement due to user request');
      const { processID, host, port } = client;
      // A request that comes before the server has begun to sleep cancels nothing.
      await until(
        () =>
          dataSource.query<unknown[]>(`SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`, [
            processID,
          ]),
        (rows) => rows.length === 1,
      );
      await cancelStatement({ ...client, processID, host: host!, port, secretKey: 1 });
      expect(ended).toBe(false);
      // On a busy machine a request may not be connected within its limit.
      await until(
        () => cancelStatement(client).then(() => ended),
        (is) => is,
      );
      await cancelled;
      await runner.release();
    } finally {
      await harness.close();
    }
  });
});
