import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { PaymentClock } from '../../libs/payment-acceptance/src/common/clock.js';
import { integer } from '../../libs/payment-acceptance/src/database/reading.js';
import { sql } from '../../libs/payment-acceptance/src/database/statement.js';
import { PostgresDatabase } from '../../libs/payment-acceptance/src/database/postgres/postgres.database.js';
import { prepare } from '../../libs/payment-acceptance/src/database/postgres/prepare.js';
import { HandlerTransactions } from '../../libs/payment-acceptance/src/database/handler-transactions.js';
import { PostgresHostSessions } from '../../libs/payment-acceptance/src/database/postgres/host-sessions.js';
import { typeOrmTransactions } from '../../libs/payment-acceptance/src/database/typeorm-transactions.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import { onPostgres } from '../support/database.js';
import { pay } from '../support/pay.js';
import { EffectWriter } from '../support/orders.js';
import { insertEffect, managerOf } from '../support/transactions.js';
import type pg from 'pg';
import { clientsOf } from '../support/beside.js';
import type { ConnectionSource } from '../../libs/payment-acceptance/src/database/connection-source.js';
import { Database, type EnclosingTransaction } from '../../libs/payment-acceptance/src/database/database.js';
import { openBeside } from '../../libs/payment-acceptance/src/database/typeorm-source.js';

let harness: Harness;

describe('lost prepared statements', () => {
  afterEach(async () => {
    jest.restoreAllMocks();
    await harness.close();
  });

  /** Connections beside the module's, for statements of the test. */
  let others: ConnectionSource | undefined;
  afterEach(async () => {
    await others?.close();
    others = undefined;
  });

  function other(connections?: number): PostgresDatabase {
    others = openBeside(harness.host.dataSource, connections);
    return new PostgresDatabase(others, new PaymentClock());
  }

  /** Every connection of the module, of the host and of the test. */
  function connections(): readonly pg.PoolClient[] {
    const { master } = harness.host.dataSource.driver as unknown as { master: { _clients: readonly pg.PoolClient[] } };
    const { source } = harness.host.app.get(Database);
    return [...master._clients, ...[source, others].flatMap((each) => (each ? clientsOf(each) : []))];
  }

  const loseAll = () => Promise.all(connections().map((client) => client.query('DEALLOCATE ALL')));

  const LIMITS = { signal: new AbortController().signal, connectMs: 60_000, unattendedMs: 60_000 };
  const STATEMENT = prepare(
    ['one'],
    ({ one }) => sql`SELECT ${one}::int + count(*) AS sum FROM payment_acceptance.bill`,
  );

  onPostgres(describe)('prepared statements that connections keep', () => {
    test('payments go on when all prepared statements are lost, and no attempt is counted for it', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      await pay(harness, 'before');
      await harness.host.confirmer.runOnce();
      await harness.host.deliveries.runOnce();
      await loseAll();
      await pay(harness, 'after');
      expect(await harness.host.confirmer.runOnce()).toBe(1);
      expect(await harness.host.deliveries.runOnce()).toBe(1);
      expect((await harness.effects()).map(({ orderId }) => orderId)).toEqual(['before', 'after']);
      const { events } = await harness.host.ledger();
      expect(events.flatMap(({ deliveries }) => deliveries)).toEqual([
        expect.objectContaining({ state: 'DONE', attempts: 1 }),
        expect.objectContaining({ state: 'DONE', attempts: 1 }),
      ]);
    });

    test('a transaction that meets a lost prepared statement is repeated once, with nothing of the first run kept', async () => {
      harness = await startHarness({});
      const database = other(1);
      await database.execute(STATEMENT, { one: 1 }, { sum: integer });
      await loseAll();
      let runs = 0;
      const sum = await database.transaction(async (tx) => {
        runs += 1;
        await insertEffect(tx, `run ${runs}`);
        return database.execute(STATEMENT, { one: 1 }, { sum: integer }, tx);
      });
      expect([sum, runs]).toEqual([[{ sum: 1 }], 2]);
      expect((await harness.effects()).map(({ consumer }) => consumer)).toEqual(['run 2']);
    });

    test("a handler's transaction that meets a lost prepared statement before the handler runs is repeated", async () => {
      harness = await startHarness({});
      const database = other();
      const layer = typeOrmTransactions(harness.host.dataSource, () => Promise.resolve('READ COMMITTED'));
      const transactions = new HandlerTransactions(layer, new PostgresHostSessions(database), () => undefined);
      const look = async (within: EnclosingTransaction): Promise<void> => {
        await database.execute(STATEMENT, { one: 1 }, { sum: integer }, within);
      };
      await transactions.run(LIMITS, look);
      await loseAll();
      let [begun, handled] = [0, 0];
      await transactions.run(LIMITS, async (within) => {
        begun += 1;
        await look(within);
        handled += 1;
        await managerOf(within).insert(Effect, {
          consumer: `run ${handled}`,
          event: 'e',
          paymentId: 'p',
          orderId: 'o',
        });
      });
      expect([begun, (await harness.effects()).map(({ consumer }) => consumer)]).toEqual([2, ['run 1']]);
    });

    test('prepared statements are renewed at intervals that grow to 30 s, so that plans follow the growth of tables', async () => {
      harness = await startHarness({});
      const database = other(1);
      let now = Math.ceil(performance.now());
      jest.spyOn(performance, 'now').mockImplementation(() => now);
      await database.rows({})`SELECT 1`;
      const client = connections().at(-1);
      const sent = jest.spyOn(client!, 'query');
      const texts = () => sent.mock.calls.map(([statement]) => (statement as unknown as { text: string }).text);
      const discards = () => texts().filter((text) => text === 'DISCARD PLANS').length;
      const look = () => database.execute(STATEMENT, { one: 1 }, { sum: integer });
      const renewedAfter: number[] = [];
      for (const began = now; now - began <= 130_000; now += 500) {
        await look();
        if (discards() > renewedAfter.length) renewedAfter.push((now - began) / 1_000);
      }
      expect(renewedAfter).toEqual([0.5, 1, 2, 4, 8, 16, 32, 62, 92, 122]);
    });
  });
});
