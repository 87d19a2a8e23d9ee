import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, type PaymentEventContext } from 'nestjs-payment-acceptance';
import type { EntityManager } from 'typeorm';
import { ON_MARIADB } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { pay } from '../support/pay.js';

/** The parts that the clients of both drivers have in common. */
interface Client {
  on(event: string, listener: () => void): Client;
  query(text: string, done?: (error: Error | null, result: unknown) => void): unknown;
}
/** What `mysql2` makes of a connection for callers that want promises. */
interface Promising {
  promise(): { query(text: string): Promise<unknown> };
}

const ID = ON_MARIADB ? 'CONNECTION_ID()' : 'pg_backend_pid()';
const SLEEP = ON_MARIADB ? 'SELECT SLEEP(30)' : 'SELECT pg_sleep(30)';

@Injectable()
class Handler {
  work: (manager: EntityManager) => Promise<unknown> = () => Promise.resolve();

  @OnPaymentSucceeded({ consumer: 'orders' })
  async take(_event: unknown, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
    await this.work(manager);
  }
}

describe('the connection of a handler', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  /** Starts a host whose pool has four connections, with a delivery for the handler. */
  async function paidFor(work: Handler['work'], timeoutMs = 30_000): Promise<void> {
    const handler = Object.assign(new Handler(), { work });
    harness = await startHarness({
      providers: [{ provide: Handler, useValue: handler }],
      options: { deliveries: { timeoutMs } },
      poolSize: 4,
    });
    await pay(harness, 'raw');
    await harness.host.confirmer.runOnce();
  }
  const delivery = async () => (await harness.host.ledger()).events[0]!.deliveries[0]!;
  /** The sessions that the pool gives to its next callers, all of them at once. */
  async function sessions(): Promise<string[]> {
    const { dataSource } = harness.host;
    const runners = Array.from({ length: 4 }, () => dataSource.createQueryRunner());
    try {
      return await Promise.all(
        runners.map(async (runner) => {
          const [row] = (await runner.query(`SELECT ${ID} AS id`)) as { id: unknown }[];
          return String(row!.id);
        }),
      );
    } finally {
      await Promise.all(runners.map((runner) => runner.release()));
    }
  }
  const sessionOf = async (manager: EntityManager): Promise<string> => {
    const [row] = await manager.query<{ id: unknown }[]>(`SELECT ${ID} AS id`);
    return String(row!.id);
  };
  const clientOf = async (manager: EntityManager): Promise<Client & Promising> =>
    (await manager.queryRunner!.connect()) as Client & Promising;

  describe('the driver’s client of a handler’s connection', () => {
    test('a handler that releases its query runner keeps its connection, which serves no other request', async () => {
      await paidFor(async (manager) => {
        await manager.queryRunner!.release();
        await harness.host.dataSource.query(`CREATE TABLE of_another (id int)`);
        await harness.host.dataSource.query('INSERT INTO of_another VALUES (1)');
        throw new Error('out of stock');
      });
      await harness.host.deliveries.runOnce();
      expect(await delivery()).toMatchObject({ state: 'PENDING', lastError: expect.stringContaining('out of stock') });
      expect(await harness.host.dataSource.query('SELECT id FROM of_another')).toHaveLength(1);
    });

    test("a statement through the driver's client counts as the handler's work while it runs", async () => {
      await paidFor(async (manager) => {
        const client = await clientOf(manager);
        await new Promise<void>((resolve, reject) => {
          client.query(
            `INSERT INTO effect (consumer, event, ${ON_MARIADB ? 'paymentId, orderId' : '"paymentId", "orderId"'})
          VALUES ('raw', 'e', 'p', 'o')`,
            (error) => (error ? reject(error) : resolve()),
          );
        });
      });
      await harness.host.deliveries.runOnce();
      expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 1 });
      expect((await harness.effects()).map(({ consumer }) => consumer)).toEqual(['raw']);
    });

    type Taken = (client: Client & Promising) => { query(text: string): unknown };
    const ITSELF: [string, Taken] = ['itself', (client) => client];
    const PROMISING: [string, Taken] = ['as promise() gives it', (client) => client.promise()];

    const CHAINED: [string, Taken] = ['as its own methods return it', (client) => client.on('end', () => undefined)];

    test.each(ON_MARIADB ? [ITSELF, CHAINED, PROMISING] : [ITSELF, CHAINED])(
      "the driver's client of a handler rejects statements afterwards: %s",
      async (_name, taken) => {
        let late: ReturnType<Taken> | undefined;
        await paidFor(async (manager) => {
          late = taken(await clientOf(manager));
          await manager.query('SELECT 1');
        });
        await harness.host.deliveries.runOnce();
        expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 1 });
        expect((): unknown => late!.query('SELECT 1')).toThrow("This manager's transaction has ended");
      },
    );

    test('a handler that has ended cannot take a connection from the pool', async () => {
      let manager: EntityManager | undefined;
      await paidFor((given) => Promise.resolve((manager = given)));
      await harness.host.deliveries.runOnce();
      for (let time = 0; time < 5; time += 1) {
        const client = (await manager!.queryRunner!.connect()) as Client;
        expect(() => client.query('SELECT 1', () => undefined)).toThrow('has ended');
      }
      expect(new Set(await sessions()).size).toBe(4);
    });

    test('handlers run on the new pool of a data source that was destroyed and initialized again', async () => {
      await paidFor(() => Promise.resolve());
      await harness.host.dataSource.destroy();
      await harness.host.dataSource.initialize();
      await harness.host.deliveries.runOnce();
      expect(await delivery()).toMatchObject({ state: 'DONE' });
    });

    test('a connection is destroyed with the statement that runs when its handler throws', async () => {
      let session = '';
      await paidFor(async (manager) => {
        session = await sessionOf(manager);
        (await clientOf(manager)).query(SLEEP, () => undefined);
        throw new Error('half-way');
      });
      await harness.host.deliveries.runOnce();
      expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1, lastError: 'Error: half-way' });
      expect(await sessions()).not.toContain(session);
    });
  });

  describe('a handler that exceeds its time limit', () => {
    const TOLD = 'The connection was idle in the transaction when the limit ran out';

    test('a handler that times out waiting for its own lock is told to write through its manager', async () => {
      await paidFor(async (manager) => {
        const table = ON_MARIADB ? 'payment_acceptance_bill' : 'payment_acceptance.bill';
        await manager.query(`SELECT 1 FROM ${table} FOR UPDATE`);
        await harness.host.dataSource.query(`UPDATE ${table} SET created_at = created_at`);
      }, 400);
      await harness.host.deliveries.runOnce();
      expect(await delivery()).toMatchObject({
        state: 'PENDING',
        attempts: 1,
        lastError: expect.stringMatching(
          new RegExp(
            `did not end within 400 ms. ${TOLD}.*write through the manager or tx that the handler is given`,
            's',
          ),
        ),
      });
    });

    test('a handler that times out in a statement of its own is not told that it waits for its own lock', async () => {
      await paidFor((manager) => manager.query(SLEEP), 400);
      await harness.host.deliveries.runOnce();
      const { lastError } = await delivery();
      expect(lastError).toContain('did not end within 400 ms');
      expect(lastError).not.toContain(TOLD);
    });
  });
});
