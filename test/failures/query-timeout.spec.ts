import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { OnPaymentSucceeded, type PaymentEventContext, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import { createPaymentInbox, processOnce } from 'nestjs-payment-acceptance/inbox';
import pg from 'pg';
import type { EntityManager } from 'typeorm';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import type { HandlerTransactions } from '../../libs/payment-acceptance/src/database/handler-transactions.js';
import { HANDLER_TRANSACTIONS } from '../../libs/payment-acceptance/src/events/handler-transactions.provider.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import { onPostgres } from '../support/database.js';
import { insertEffect, managerOf } from '../support/transactions.js';
import { rawSql } from '../../libs/payment-acceptance/src/database/statement.js';

let harness: Harness;

describe('query timeout', () => {
  afterEach(() => harness.close());

  const EFFECT = { event: 'e', paymentId: 'p', orderId: 'o' };
  const LIMITS = { signal: new AbortController().signal, connectMs: 60_000, unattendedMs: 60_000 };
  const LOCK = 77;
  const WAIT = `SELECT pg_advisory_xact_lock(${LOCK})`;

  /** Holds the lock that the test's statements wait for, until it is released. */
  async function holdLock(): Promise<() => Promise<void>> {
    const client = new pg.Client({ connectionString: harness.databaseUrl });
    await client.connect();
    await client.query(`SELECT pg_advisory_lock(${LOCK})`);
    return () => client.end();
  }

  /** What others see of it. */
  async function seen(): Promise<{ bills: string[]; effects: string[] }> {
    const other = harness.instances[1]!;
    const effects = await other.dataSource.getRepository(Effect).find();
    return {
      bills: (await other.ledger()).bills.map(({ orderId }) => orderId).sort(),
      effects: effects.map(({ consumer }) => consumer).sort(),
    };
  }

  describe('a pool whose client-side time-out also hits ROLLBACK', () => {
    const through = (url: string): string => `${url}?query_timeout=400`;

    onPostgres(test)('nothing is kept of a handler that times out in the client', async () => {
      let runs = 0;
      @Injectable()
      class Half {
        @OnPaymentSucceeded({ consumer: 'orders' })
        async take(
          { name, paymentId, orderId }: PaymentSucceededEvent,
          { manager }: PaymentEventContext<EntityManager>,
        ) {
          runs += 1;
          await manager.insert(Effect, { consumer: `run ${runs}`, event: name, paymentId, orderId });
          await manager.query(WAIT);
        }
      }
      harness = await startHarness({ providers: [Half], instances: 2, through });
      const { billId } = await harness.host.payments.createBill({ orderId: 'half', amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
      await harness.host.confirmer.runOnce();
      const letGo = await holdLock();
      expect(await harness.host.deliveries.runOnce()).toBe(1);
      await letGo();
      await harness.host.payments.createBill({ orderId: 'next', amount: '5' });
      expect(await seen()).toEqual({ bills: ['half', 'next'], effects: [] });
      const [delivery] = (await harness.instances[1]!.ledger()).events[0]!.deliveries;
      expect(delivery).toMatchObject({ state: 'PENDING', attempts: 1 });
      expect(delivery!.lastError).toContain('Query read timeout');
      harness.clock.advance(120_000);
      expect(await harness.host.deliveries.runOnce()).toBe(1);
      expect(await seen()).toMatchObject({ effects: ['run 2'] });
    });

    onPostgres(test)('nothing is kept of a transaction of the module that times out in the client', async () => {
      // The limits of the address are the host's.
      harness = await startHarness({ instances: 2, through, options: { statementTimeoutMs: 1_000 } });
      const letGo = await holdLock();
      const database = harness.host.app.get(Database, { strict: false });
      const failing = database.transaction(async (tx) => {
        await insertEffect(tx, 'undone');
        await tx.rows({})`${rawSql(WAIT)}`;
      });
      await expect(failing).rejects.toMatchObject({ code: 'statement-timeout' });
      await letGo();
      await harness.host.payments.createBill({ orderId: 'next', amount: '5' });
      expect(await seen()).toEqual({ bills: ['next'], effects: [] });
    });
  });

  type Work = (manager: EntityManager) => Promise<void>;

  test.each<[string, (work: Work) => Promise<unknown>]>([
    [
      'a handler',
      (work) =>
        harness.host.app
          .get<HandlerTransactions>(HANDLER_TRANSACTIONS, { strict: false })
          .run(LIMITS, (within) => work(managerOf(within))),
    ],
    ['processOnce', (work) => processOnce(harness.host.dataSource.manager, { id: 'once' }, work)],
  ])('a connection of %s is rolled back although a hook of the host throws before', async (_whose, run) => {
    harness = await startHarness({ instances: 2 });
    await createPaymentInbox(harness.host.dataSource.manager);
    harness.host.dataSource.subscribers.push({
      beforeTransactionRollback() {
        throw new Error('a subscriber of the host');
      },
    });
    const failing = run(async (manager) => {
      await manager.insert(Effect, { ...EFFECT, consumer: 'undone' });
      throw new Error('half-way');
    });
    await expect(failing).rejects.toThrow('half-way');
    await harness.host.dataSource.getRepository(Effect).insert({ ...EFFECT, consumer: 'next' });
    await harness.host.payments.createBill({ orderId: 'next', amount: '5' });
    expect(await seen()).toEqual({ bills: ['next'], effects: ['next'] });
  });

  test("a handler's time limit ends its wait for a connection, which returns to the pool if it comes later", async () => {
    harness = await startHarness({ instances: 1 });
    const { dataSource, app } = harness.host;
    const takeAll = async () => {
      const runners = Array.from({ length: 10 }, () => dataSource.createQueryRunner());
      await Promise.all(runners.map((runner) => runner.connect()));
      return () => Promise.all(runners.map((runner) => runner.release()));
    };
    const limit = new AbortController();
    const limits = { ...LIMITS, signal: limit.signal };
    const transactions = app.get<HandlerTransactions>(HANDLER_TRANSACTIONS, { strict: false });
    // By then both databases have answered the one-time queries.
    await transactions.run(limits, () => Promise.resolve());
    const giveBack = await takeAll();
    let worked = false;
    const waiting = transactions.run(limits, () => Promise.resolve(void (worked = true)));
    await setImmediate();
    limit.abort(new Error('The handler did not end in time.'));
    await expect(waiting).rejects.toThrow('The handler did not end in time.');
    await giveBack();
    await (
      await takeAll()
    )();
    expect(worked).toBe(false);
  });
});
