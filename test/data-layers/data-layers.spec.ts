import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentSucceeded,
  type PaymentEventContext,
  type PaymentSucceededEvent,
  type PaymentTransactions,
} from 'nestjs-payment-acceptance';
import type { DriverTransactions } from '../../libs/payment-acceptance/src/database/payment-transactions.js';
import { ON_MARIADB } from '../support/database.js';
import { startHarness, type Harness, type Instance } from '../support/harness.js';
import { until } from '../support/until.js';
import { LAYERS } from './layers.mjs';

type Layer = Awaited<ReturnType<(typeof LAYERS)[number]['open']>>;

const TIME_LIMIT_MS = 400;

const column = (name: string): string => (ON_MARIADB ? name : `"${name}"`);

/** A write of a handler, as a statement. */
const write = (what: string, orderId = 'order-1'): string =>
  `INSERT INTO effect (consumer, event, ${column('paymentId')}, ${column('orderId')}) VALUES ('${what}', 'paid', 'x', '${orderId}')`;

const SLEEP = ON_MARIADB ? 'SELECT SLEEP(60)' : 'SELECT pg_sleep(60)::text';
const FAILS = 'SELECT no_such_column FROM effect';

type Handler = (tx: unknown, event: PaymentSucceededEvent, context: PaymentEventContext) => Promise<unknown>;

/** A handler that ignores the error of a statement. */
const swallow = (statement: Promise<unknown>): Promise<void> =>
  statement.then(
    () => undefined,
    () => undefined,
  );

describe.each(LAYERS)('handlers in transactions of $name', ({ open, absent, ...kind }) => {
  const each = absent === undefined ? test : test.skip;
  let harness: Harness;
  let layer: Layer;
  let instance: Instance;
  let attempts = 0;

  /** Starts an instance with this handler, and pays an order. */
  async function paid(
    handler: Handler,
    transactions: PaymentTransactions = layer.transactions,
    timeoutMs = TIME_LIMIT_MS,
  ): Promise<void> {
    @Injectable()
    class Orders {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async take(event: PaymentSucceededEvent, context: PaymentEventContext): Promise<void> {
        attempts += 1;
        await handler(context.tx, event, context);
      }
    }
    instance = await harness.start({
      providers: [Orders],
      options: {
        transactions,
        storage: { url: harness.databaseUrl },
        deliveries: { timeoutMs },
      },
    });
    const { billId } = await harness.host.payments.createBill({ orderId: 'order-1', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
  }

  const again = async (): Promise<void> => {
    harness.clock.advance(10_000);
    await instance.deliveries.runOnce();
  };
  const delivery = async () => (await harness.host.ledger()).events[0]!.deliveries[0]!;
  const effects = async (): Promise<string[]> => (await harness.effects()).map(({ consumer }) => consumer);

  beforeEach(async () => {
    if (absent !== undefined) return;
    attempts = 0;
    harness = await startHarness({ options: { deliveries: { timeoutMs: TIME_LIMIT_MS } } });
    layer = await open(harness.databaseUrl);
  });
  afterEach(async () => {
    if (absent !== undefined) return;
    await harness.close();
    await layer.close();
  });

  each('a handler commits its writes together with the delivery mark', async () => {
    // The first of a layer, which may find its code cold.
    await paid((tx) => layer.send(tx, write('paid')), layer.transactions, 30_000);
    expect(await instance.deliveries.runOnce()).toBe(1);
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 1 });
    expect(await effects()).toEqual(['paid']);
  });

  each('a handler that throws leaves no writes, and succeeds at the next attempt', async () => {
    await paid(async (tx, _event, { attempt }) => {
      await layer.send(tx, write(`attempt ${attempt}`));
      if (attempt === 1) throw new Error('not yet');
    });
    await instance.deliveries.runOnce();
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1, lastError: 'Error: not yet' });
    expect(await effects()).toEqual([]);
    await again();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await effects()).toEqual(['attempt 2']);
  });

  (ON_MARIADB ? test.skip : each)('a handler that swallows a failed statement fails its attempt', async () => {
    await paid(async (tx, _event, { attempt }) => {
      await layer.send(tx, write(`attempt ${attempt}`));
      if (attempt === 1) await swallow(layer.send(tx, FAILS));
    });
    await instance.deliveries.runOnce();
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
    expect(await effects()).toEqual([]);
    await again();
    expect(await delivery()).toMatchObject({ state: 'DONE' });
    expect(await effects()).toEqual(['attempt 2']);
  });

  each('a handler that swallows a deadlock and writes on fails its attempt', async () => {
    const { dataSource } = harness.host;
    await dataSource.query(write('a', 'a'));
    await dataSource.query(write('b', 'b'));
    const lock = (id: string) => `UPDATE effect SET ${column('paymentId')} = 'y' WHERE ${column('orderId')} = '${id}'`;
    // Its limit must not end it before the deadlock does: the other transaction would outlive the test.
    const deadlocked: Handler = async (tx, _event, { attempt }) => {
      if (attempt > 1) return;
      const other = dataSource.createQueryRunner();
      await other.startTransaction();
      // The heavier transaction survives.
      for (const id of ['w1', 'w2', 'w3', 'w4']) await other.query(write('other', id));
      await layer.send(tx, lock('a'));
      await other.query(lock('b'));
      const crossing = other.query(lock('a')).then(
        () => other.commitTransaction(),
        () => other.rollbackTransaction(),
      );
      await swallow(layer.send(tx, lock('b')));
      await crossing;
      await other.release();
      await swallow(layer.send(tx, write('after the deadlock')));
      throw new Error('a deadlock');
    };
    await paid(deadlocked, layer.transactions, 30_000);
    await instance.deliveries.runOnce();
    expect(await effects()).not.toContain('after the deadlock');
    expect(await delivery()).toMatchObject({ state: 'PENDING' });
  });

  describe.each([
    ['COMMIT', ['COMMIT']],
    ['ROLLBACK', ['ROLLBACK']],
    ['COMMIT and BEGIN', ['COMMIT', 'BEGIN']],
    ['ROLLBACK and BEGIN', ['ROLLBACK', 'BEGIN']],
    ...(ON_MARIADB ? [['DDL', ['CREATE TABLE made (id int)']] as const] : []),
  ] as const)('handlers that send %s', (_name, statements) => {
    each('a handler that ends its transaction with SQL is not marked done', async () => {
      let passed = 0;
      await paid(async (tx, _event, { attempt }) => {
        await layer.send(tx, write(`attempt ${attempt}`));
        if (attempt > 1) return;
        for (const statement of statements) await swallow(layer.send(tx, statement).then(() => (passed += 1)));
      });
      await instance.deliveries.runOnce();
      const { state, attempts: counted, lastError } = await delivery();
      // A layer that lets none of them pass has kept its transaction: then the attempt may succeed.
      if (state === 'DONE') expect([passed, await effects()]).toEqual([0, ['attempt 1']]);
      else expect([state, counted, lastError]).toEqual(['PENDING', 1, expect.any(String)]);
      if (state === 'DONE') return;
      await again();
      expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
      expect(await effects()).toContain('attempt 2');
    });
  });

  each(
    'a handler that ends its transaction through its layer is not marked done, and its connection is restored',
    async () => {
      if (!layer.end) return;
      const { end } = layer;
      await paid(async (tx, _event, { attempt }) => {
        await layer.send(tx, write(`attempt ${attempt}`));
        if (attempt === 1) await swallow(end(tx));
      });
      await instance.deliveries.runOnce();
      expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1, lastError: expect.any(String) });
      await again();
      expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
      expect(await effects()).toEqual(['attempt 2']);
      const setting = ON_MARIADB ? '@@autocommit' : `current_setting('transaction_isolation')`;
      const read = () =>
        layer.transactions.run(
          async (tx) => (await layer.transactions.query(tx, `SELECT ${setting} AS setting`, [], 'rows')).rows,
          { signal: AbortSignal.timeout(10_000), timeoutMs: 10_000 },
        );
      const settings = await Promise.all([read(), read(), read(), read()]);
      const usual = ON_MARIADB ? '1' : 'read committed';
      expect(settings.map(([row]) => String((row as { setting: unknown }).setting))).toEqual(Array(4).fill(usual));
    },
  );

  each('a handler that has persisted what the database refuses gets the error, and leaves nothing', async () => {
    if (!layer.persist) return;
    const { persist } = layer;
    await paid(async (tx, _event, { attempt }) => {
      await layer.send(tx, write(`attempt ${attempt}`));
      if (attempt === 1) persist(tx);
    });
    await instance.deliveries.runOnce();
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
    expect((await delivery()).lastError).toMatch(/unused/);
    await again();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await effects()).toEqual(['attempt 2']);
  });

  each('a handler that throws leaves nothing of what it has persisted', async () => {
    if (!layer.persist) return;
    const { persist } = layer;
    await paid((tx, _event, { attempt }) => {
      const values = { consumer: `attempt ${attempt}`, event: 'paid', paymentId: 'x', orderId: 'order-1' };
      persist(tx, { table: 'effect', values });
      return attempt === 1 ? Promise.reject(new Error('out of stock')) : Promise.resolve();
    });
    await instance.deliveries.runOnce();
    expect(await effects()).toEqual([]);
    await again();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await effects()).toEqual(['attempt 2']);
  });

  each('a nested transaction is rolled back with that of its handler', async () => {
    if (!layer.nested) return;
    const { nested } = layer;
    await paid(async (tx, _event, { attempt }) => {
      await nested(tx, (inner) => layer.send(inner, write(`attempt ${attempt}`)));
      await nested(tx, async (inner) => {
        await layer.send(inner, write('undone'));
        throw new Error('a part that may fail');
      }).catch(() => undefined);
      if (attempt === 1) throw new Error('after the nested one');
    });
    await instance.deliveries.runOnce();
    expect(await effects()).toEqual([]);
    await again();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await effects()).toEqual(['attempt 2']);
  });

  each('a handler that throws leaves nothing of a statement that it did not await', async () => {
    await paid((tx) => {
      for (let times = 0; times < 5; times += 1) void swallow(layer.send(tx, write('not awaited')));
      throw new Error('thrown at once');
    });
    await instance.deliveries.runOnce();
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
    if (!kind.commitsUnawaited) expect(await effects()).toEqual([]);
  });

  (kind.isGated ? each : test.skip)(
    'a handler that writes after it has returned, before the delivery mark, has not done its work',
    async () => {
      const late: Promise<unknown>[] = [];
      const ofDriver = layer.transactions as DriverTransactions;
      const transactions: DriverTransactions = {
        ...ofDriver,
        async close(tx) {
          await ofDriver.close(tx);
          late.push(Promise.resolve().then(() => layer.send(tx, write('late'))));
        },
      };
      await paid((tx) => layer.send(tx, write('in time')), transactions);
      await instance.deliveries.runOnce();
      expect(await Promise.allSettled(late)).toMatchObject([{ status: 'rejected' }]);
      expect(await delivery()).toMatchObject({ state: 'PENDING' });
      expect(await effects()).toEqual([]);
    },
  );

  each('a handler that has returned cannot write any more', async () => {
    let tx: unknown;
    await paid((given) => {
      tx = given;
      return layer.send(tx, write('in time'));
    });
    await instance.deliveries.runOnce();
    await expect(Promise.resolve().then(() => layer.send(tx, write('late')))).rejects.toThrow();
    expect(await effects()).toEqual(['in time']);
  });

  each('a handler ends with its session at the time limit, inside a statement', async () => {
    await paid(async (tx, _event, { attempt }) => {
      await layer.send(tx, write(`attempt ${attempt}`));
      if (attempt > 1) return;
      await swallow(layer.send(tx, SLEEP));
      await swallow(Promise.resolve().then(() => layer.send(tx, write('after the limit'))));
    });
    await instance.deliveries.runOnce();
    expect((await delivery()).lastError).toContain(`did not end within ${TIME_LIMIT_MS} ms`);
    expect((await delivery()).lastError).not.toContain('idle');
    expect(await effects()).toEqual([]);
    await until(
      () =>
        harness.host.dataSource.query<unknown[]>(
          ON_MARIADB
            ? `SELECT 1 FROM information_schema.PROCESSLIST WHERE DB = DATABASE() AND INFO LIKE 'SELECT SLEEP%'`
            : `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'SELECT pg_sleep%'`,
        ),
      (running) => running.length === 0,
    );
    await again();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await effects()).toEqual(['attempt 2']);
  });

  each('a handler ends with its session at the time limit, between statements', async () => {
    let resume = (): void => undefined;
    let ended: Promise<void> = Promise.resolve();
    await paid(async (tx, _event, { attempt, signal }) => {
      await layer.send(tx, write(`attempt ${attempt}`));
      if (attempt > 1) return;
      const waiting = new Promise<void>((resolve) => (resume = resolve));
      expect(signal.aborted).toBe(false);
      ended = waiting.then(() => swallow(Promise.resolve().then(() => layer.send(tx, write('after the limit')))));
      await ended;
    });
    await instance.deliveries.runOnce();
    expect((await delivery()).lastError).toContain('The connection was idle in the transaction');
    resume();
    await ended;
    expect(await effects()).toEqual([]);
    await again();
    expect(await effects()).toEqual(['attempt 2']);
  });

  each('a handler fails at once if somebody else ends its session, and succeeds at the next attempt', async () => {
    const id = ON_MARIADB ? 'CONNECTION_ID()' : 'pg_backend_pid()::text';
    const { dataSource } = harness.host;
    await paid(
      async (tx, _event, { attempt }) => {
        await layer.send(tx, write(`attempt ${attempt}`));
        if (attempt > 1) return;
        const { rows } = await layer.transactions.query(tx, `SELECT ${id} AS id`, [], 'rows');
        const session = String((rows[0] as { id: unknown }).id);
        await dataSource.query(ON_MARIADB ? `KILL ${session}` : `SELECT pg_terminate_backend(${session})`);
        await until(
          () =>
            dataSource.query<unknown[]>(
              ON_MARIADB
                ? `SELECT 1 FROM information_schema.PROCESSLIST WHERE ID = ${session}`
                : `SELECT 1 FROM pg_stat_activity WHERE pid = ${session}`,
            ),
          (sessions) => sessions.length === 0,
        );
        await swallow(Promise.resolve().then(() => layer.send(tx, write('after the end'))));
        await layer.send(tx, write('after the end'));
      },
      layer.transactions,
      30_000,
    );
    await instance.deliveries.runOnce();
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1, lastError: expect.any(String) });
    expect(await effects()).toEqual([]);
    await again();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await effects()).toEqual(['attempt 2']);
  });

  each('a handler that never settles keeps no connection', async () => {
    await paid(async (tx, _event, { attempt }) => {
      await layer.send(tx, write(`attempt ${attempt}`));
      if (attempt <= 5) await new Promise(() => undefined);
    });
    for (let times = 1; times <= 5; times += 1) {
      await again();
      expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: times });
      harness.clock.advance(3_600_000);
    }
    await again();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 6 });
    expect(await effects()).toEqual(['attempt 6']);
  });

  each('a delivery counts as done after a COMMIT whose answer is lost', async () => {
    const { transactions } = layer;
    const lost: PaymentTransactions = {
      ...transactions,
      async run(work, at) {
        const result = await transactions.run(work, at);
        if (attempts > 0) throw new Error('Connection terminated unexpectedly');
        return result;
      },
    };
    await paid((tx) => layer.send(tx, write('paid')), lost);
    await instance.deliveries.runOnce();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 1 });
    expect(await effects()).toEqual(['paid']);
  });

  // Where the mark is the last statement before COMMIT, the driver's answer to that is enough.
  (kind.isGated ? test.skip : each)(
    'a delivery does not count as done after a COMMIT that never happened',
    async () => {
      const { transactions } = layer;
      let isFirst = true;
      const hiding: PaymentTransactions = {
        ...transactions,
        async run<T>(work: (tx: unknown) => Promise<T>, at: Parameters<PaymentTransactions['run']>[1]): Promise<T> {
          if (!isFirst) return transactions.run(work, at);
          let result: T | undefined;
          await transactions
            .run(async (tx) => {
              result = await work(tx);
              isFirst = false;
              throw new Error('rolled back');
            }, at)
            .catch(() => undefined);
          return result as T;
        },
      };
      // On MariaDB the mark has been committed by then.
      if (ON_MARIADB) return;
      await paid((tx, _event, { attempt }) => layer.send(tx, write(`attempt ${attempt}`)), hiding);
      isFirst = true;
      await instance.deliveries.runOnce();
      expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
      expect((await delivery()).lastError).toContain('nothing was committed');
      await again();
      expect(await effects()).toEqual(['attempt 2']);
    },
  );

  each('handlers leave the sessions of the pool as they were', async () => {
    const probe = ON_MARIADB
      ? 'SELECT CONCAT(@@autocommit, @@SESSION.idle_transaction_timeout) AS s'
      : `SELECT current_setting('idle_in_transaction_session_timeout') AS s`;
    const at = { signal: new AbortController().signal, timeoutMs: 5_000 };
    const { transactions } = layer;
    const settings = () =>
      transactions.run(async (tx) => (await transactions.query(tx, probe, [], 'rows')).rows[0], at);
    const before = await settings();
    await paid(async (tx, _event, { attempt }) => {
      await layer.send(tx, write(`attempt ${attempt}`));
      if (attempt === 1) throw new Error('not yet');
    });
    await instance.deliveries.runOnce();
    await again();
    expect(await settings()).toEqual(before);
    expect(attempts).toBe(2);
  });
});
