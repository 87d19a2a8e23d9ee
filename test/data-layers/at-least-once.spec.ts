import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Inject, Injectable, type INestApplication, type Provider } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  OnPaymentSucceeded,
  PaymentAcceptanceModule,
  PaymentAcceptanceService,
  PaymentWorkers,
  requireOrder,
  type PaymentDeliveryContext,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import mysql, { type ResultSetHeader, type RowDataPacket } from 'mysql2/promise';
import { onPostgres } from '../support/database.js';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { createMariaDatabase } from '../support/maria-database.js';
import { until } from '../support/until.js';

/** Of `node:sqlite`, which Node.js 20 does not have. */
interface DatabaseSync {
  exec(sql: string): void;
  prepare(sql: string): { run(...values: unknown[]): { changes: number }; get(): object };
  close(): void;
}

/** What goes wrong at the next call of a handler, after its order is stored. */
const trouble = { after: (): void => undefined };

const ORDER = 'id = ? AND amount = ? AND currency = ?';

const MARIA = Symbol('maria');
const SQLITE = Symbol('sqlite');

@Injectable()
class MariaOrders {
  constructor(@Inject(MARIA) private readonly pool: mysql.Pool) {}

  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, { deliveryId }: PaymentDeliveryContext): Promise<void> {
    const connection = await this.pool.getConnection();
    try {
      await connection.beginTransaction();
      const [key] = await connection.query<ResultSetHeader>('INSERT IGNORE INTO payment_key VALUES (?)', [deliveryId]);
      if (key.affectedRows > 0) await this.markPaid(connection, event);
      await connection.commit();
    } catch (error) {
      await connection.rollback();
      throw error;
    } finally {
      connection.release();
    }
    trouble.after();
  }

  private async markPaid(connection: mysql.PoolConnection, event: PaymentSucceededEvent): Promise<void> {
    const order = [event.orderId, event.billedAmount, event.currency];
    const paid = `UPDATE orders SET status = 'paid' WHERE ${ORDER} AND status = 'pending'`;
    const [{ affectedRows }] = await connection.query<ResultSetHeader>(paid, order);
    const noted = `UPDATE orders SET note = ? WHERE ${ORDER}`;
    if (!affectedRows) requireOrder(event, await connection.query(noted, [`Payment ${event.paymentId}`, ...order]));
  }
}

@Injectable()
class SqliteOrders {
  constructor(@Inject(SQLITE) private readonly database: DatabaseSync) {}

  @OnPaymentSucceeded({ consumer: 'orders' })
  paid(event: PaymentSucceededEvent, { deliveryId }: PaymentDeliveryContext): void {
    const { database } = this;
    database.exec('BEGIN IMMEDIATE');
    try {
      const { changes } = database.prepare('INSERT OR IGNORE INTO payment_key VALUES (?)').run(deliveryId);
      if (changes) this.markPaid(event);
      database.exec('COMMIT');
    } catch (error) {
      database.exec('ROLLBACK');
      throw error;
    }
    trouble.after();
  }

  private markPaid(event: PaymentSucceededEvent): void {
    const order = [event.orderId, event.billedAmount, event.currency];
    const paid = this.database.prepare(`UPDATE orders SET status = 'paid' WHERE ${ORDER} AND status = 'pending'`);
    if (paid.run(...order).changes) return;
    const noted = this.database.prepare(`UPDATE orders SET note = ? WHERE ${ORDER}`);
    requireOrder(event, noted.run(`Payment ${event.paymentId}`, ...order).changes);
  }
}

describe("handlers: 'at-least-once', for orders in another database", () => {
  let harness: Harness;
  let app: INestApplication | undefined;

  beforeEach(async () => {
    trouble.after = () => undefined;
    harness = await startHarness();
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
    await harness.close();
  });

  async function start(providers: Provider[], timeoutMs = 30_000): Promise<INestApplication> {
    const options = moduleOptions(harness.sandboxUrl, {
      storage: { url: harness.databaseUrl },
      handlers: 'at-least-once',
      deliveries: { timeoutMs },
    });
    const module = await Test.createTestingModule({
      imports: [PaymentAcceptanceModule.forRoot(options)],
      providers,
    }).compile();
    app = module.createNestApplication({ logger: false, forceCloseConnections: true });
    return app.init();
  }

  async function pay(host: INestApplication, orderId: string): Promise<void> {
    const { billId } = await host.get(PaymentAcceptanceService).createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    const { events } = await until(
      async () => {
        await harness.host.confirmer.runOnce();
        return harness.host.ledger();
      },
      (ledger) => ledger.events.length > 0,
    );
    expect(events).toHaveLength(1);
  }

  async function delivered(host: INestApplication): Promise<{ state: string; attempts: number }> {
    const { deliveries } = await until(
      async () => {
        await harness.host.dataSource.query(
          `UPDATE payment_acceptance.delivery SET due_at = ended_at WHERE ended_at IS NOT NULL`,
        );
        await host.get(PaymentWorkers).deliveries.runOnce();
        return (await harness.host.ledger()).events[0]!;
      },
      (event) => event.deliveries[0]?.state === 'DONE',
    );
    return deliveries[0]!;
  }

  onPostgres(test)(
    'in MariaDB, an at-least-once handler waits for its order, and acts once if called again after its commit',
    async () => {
      const orders = await createMariaDatabase(`orders_${process.pid}_${Date.now()}`);
      const pool = mysql.createPool(orders.url.replace('mariadb:', 'mysql:'));
      try {
        await pool.query(
          'CREATE TABLE orders (id varchar(40) PRIMARY KEY, amount decimal(10, 2), currency char(3), status text, note text)',
        );
        await pool.query('CREATE TABLE payment_key (delivery_id char(36) PRIMARY KEY)');
        const host = await start([MariaOrders, { provide: MARIA, useValue: pool }]);
        await pay(host, 'A');
        // Not found: neither the order nor the key is stored.
        await host.get(PaymentWorkers).deliveries.runOnce();
        await pool.query(`INSERT INTO orders VALUES ('A', 10, 'RUB', 'pending', NULL)`);
        let calls = 0;
        trouble.after = () => {
          calls += 1;
          if (calls === 1) throw new Error('The process ended here.');
        };
        expect(await delivered(host)).toMatchObject({ attempts: 3 });
        expect(calls).toBe(2);
        const [rows] = await pool.query<RowDataPacket[]>('SELECT status, note FROM orders');
        expect(rows).toEqual([{ status: 'paid', note: null }]);
      } finally {
        await app?.close();
        app = undefined;
        await pool.end();
        await orders.drop();
      }
    },
  );

  // Node.js 20 has none.
  const sqlite = process.getBuiltinModule('node:sqlite') as
    { DatabaseSync: new (file: string) => DatabaseSync } | undefined;
  (sqlite ? test : test.skip)(
    'in SQLite (Node.js 22), an at-least-once handler waits for its order, and acts once if called again',
    async () => {
      const database = new sqlite!.DatabaseSync(':memory:');
      database.exec('CREATE TABLE orders (id text PRIMARY KEY, amount text, currency text, status text, note text)');
      database.exec('CREATE TABLE payment_key (delivery_id text PRIMARY KEY)');
      const host = await start([SqliteOrders, { provide: SQLITE, useValue: database }]);
      await pay(host, 'A');
      await host.get(PaymentWorkers).deliveries.runOnce();
      database.exec(`INSERT INTO orders VALUES ('A', '10.00', 'RUB', 'pending', NULL)`);
      let calls = 0;
      trouble.after = () => {
        calls += 1;
        if (calls === 1) throw new Error('The process ended here.');
      };
      expect(await delivered(host)).toMatchObject({ attempts: 3 });
      expect([calls, database.prepare('SELECT status, note FROM orders').get()]).toEqual([
        2,
        expect.objectContaining({ status: 'paid', note: null }),
      ]);
      database.close();
    },
  );

  test('an at-least-once handler gets no transaction, and is called again if it exceeds its time limit', async () => {
    const contexts: object[] = [];
    @Injectable()
    class Orders {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async paid(_event: PaymentSucceededEvent, context: PaymentDeliveryContext): Promise<void> {
        contexts.push(context);
        if (contexts.length === 1) await new Promise((resolve) => context.signal.addEventListener('abort', resolve));
      }
    }
    const host = await start([Orders], 200);
    await pay(host, 'A');
    await delivered(host);
    const { events } = await harness.host.ledger();
    const deliveryId = expect.any(String) as unknown;
    expect(contexts).toEqual([
      { attempt: 1, deliveryId, signal: expect.any(AbortSignal) as unknown },
      { attempt: 2, deliveryId, signal: expect.any(AbortSignal) as unknown },
    ]);
    expect(new Set(contexts.map((context) => (context as PaymentDeliveryContext).deliveryId)).size).toBe(1);
    expect(events).toHaveLength(1);
  });
});
