import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded, type PaymentEventContext } from 'nestjs-payment-acceptance';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import type { HandlerTransactions } from '../../libs/payment-acceptance/src/database/handler-transactions.js';
import { HANDLER_TRANSACTIONS } from '../../libs/payment-acceptance/src/events/handler-transactions.provider.js';
import { rawSql } from '../../libs/payment-acceptance/src/database/statement.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import { ON_MARIADB } from '../support/database.js';
import { managerOf } from '../support/transactions.js';
import type { EntityManager } from 'typeorm';

let harness: Harness;

describe('locks and time limits of an instance that is gone', () => {
  afterEach(() => harness.close());

  /** How long the server lets a transaction of this connection idle, in milliseconds. */
  async function unattendedMs(query: (statement: string) => Promise<{ ms?: unknown }[]>): Promise<number> {
    const [row] = await query(
      ON_MARIADB
        ? 'SELECT @@SESSION.idle_transaction_timeout * 1000 AS ms'
        : `SELECT setting AS ms FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'`,
    );
    return Number(row?.ms);
  }

  const LIMITS = { signal: new AbortController().signal, connectMs: 60_000, unattendedMs: 1_000 };
  /** Locks the row, waits, and sends another statement. */
  type Work = (send: (statement: string) => Promise<unknown>) => Promise<void>;
  const IDLE = ON_MARIADB
    ? 'SET SESSION idle_transaction_timeout = 1'
    : `SET LOCAL idle_in_transaction_session_timeout = 1000`;

  test.each<[string, (work: Work) => Promise<unknown>]>([
    [
      'a transaction',
      (work) => {
        const database = harness.host.app.get(Database, { strict: false });
        return database.transaction(async (tx) => {
          const send = (statement: string) => tx.change`${rawSql(statement)}`;
          await send(IDLE);
          await work(send);
        });
      },
    ],
    [
      'a handler',
      (work) =>
        harness.host.app
          .get<HandlerTransactions>(HANDLER_TRANSACTIONS, { strict: false })
          .run(LIMITS, async (within) => {
            const send = (statement: string) => managerOf(within).query(statement);
            // On PostgreSQL, the lock of its delivery sets the limit.
            if (!ON_MARIADB) await send(IDLE);
            await work(send);
          }),
    ],
  ])('locks held by %s of a vanished instance are released, and other instances go on', async (_whose, run) => {
    harness = await startHarness({ instances: 2 });
    const row = await harness.host.dataSource
      .getRepository(Effect)
      .save({ consumer: 'before', event: 'e', paymentId: 'p', orderId: 'o' });
    let thaw = (): void => undefined;
    let locked = (): void => undefined;
    const hasLocked = new Promise<void>((resolve) => (locked = resolve));
    const frozen = run(async (send) => {
      await send(`UPDATE effect SET consumer = 'of the frozen one' WHERE id = ${row.id}`);
      locked();
      await new Promise<void>((resolve) => (thaw = resolve));
      await send('SELECT 1');
    });
    frozen.catch(() => undefined);
    await Promise.race([hasLocked, frozen]);
    // Waits for the lock until the server has ended the transaction.
    const other = harness.instances[1]!.dataSource.getRepository(Effect);
    await other.update({ id: row.id }, { consumer: 'of the other' });
    thaw();
    await expect(frozen).rejects.toThrow();
    expect((await other.find()).map(({ consumer }) => consumer)).toEqual(['of the other']);
    // The rest of its pool still works.
    await harness.host.payments.createBill({ orderId: 'next', amount: '5' });
    expect((await harness.host.ledger()).bills).toHaveLength(1);
  });

  test("a module transaction has a minute idle, a handler its lease, and the host's connections keep their own limit", async () => {
    const seen: number[] = [];
    @Injectable()
    class Orders {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async take(_event: unknown, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
        seen.push(await unattendedMs((statement) => manager.query(statement)));
      }
    }
    harness = await startHarness({ providers: [Orders], options: { deliveries: { timeoutMs: 20_000 } } });
    const { manager } = harness.host.dataSource;
    const before = await unattendedMs((statement) => manager.query(statement));
    const database = harness.host.app.get(Database, { strict: false });
    await database.transaction(async (tx) => {
      seen.push(await unattendedMs((statement) => tx.rows<{ ms: string }>({})`${rawSql(statement)}`));
    });
    const { billId } = await harness.host.payments.createBill({ orderId: 'A', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
    await harness.host.deliveries.runOnce();
    expect(seen).toEqual([60_000, 35_000]);
    const everyConnection = Array.from({ length: 10 }, () => harness.host.dataSource.createQueryRunner());
    for (const runner of everyConnection) await runner.connect();
    for (const runner of everyConnection)
      expect(await unattendedMs((statement) => runner.manager.query(statement))).toBe(before);
    for (const runner of everyConnection) await runner.release();
  });
});
