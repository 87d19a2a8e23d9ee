import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DataSource } from 'typeorm';
import { createTestDatabase, type TestDatabase } from '../../../../../test/support/database.js';
import { PaymentClock } from '../../common/clock.js';
import { isUniqueViolation } from '../query-errors.js';
import { integer } from '../reading.js';
import { sql } from '../statement.js';
import { PostgresDatabase } from './postgres.database.js';
import { prepare } from './prepare.js';
import { beside } from '../../../../../test/support/beside.js';
import { until } from '../../../../../test/support/until.js';

let testDatabase: TestDatabase;
let dataSource: DataSource;
let database: PostgresDatabase;

describe('a database on PostgreSQL', () => {
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    dataSource = await new DataSource({ type: 'postgres', url: testDatabase.url }).initialize();
    database = new PostgresDatabase(beside(dataSource), new PaymentClock());
    await dataSource.query('CREATE TABLE seat (id int PRIMARY KEY, taken int NOT NULL)');
    await dataSource.query('INSERT INTO seat VALUES (1, 0), (2, 0)');
  });
  afterAll(async () => {
    await dataSource.destroy();
    await testDatabase.drop();
  });

  const taken = async () =>
    (await database.rows<{ taken: number }>({ taken: integer })`SELECT taken FROM seat ORDER BY id`).map(
      (s) => s.taken,
    );

  describe('transactions that conflict with another', () => {
    test('a transaction is repeated after a deadlock, so that both end, each once', async () => {
      let arrived = (): void => undefined;
      const both = new Promise<void>((resolve) => {
        let waiting = 2;
        arrived = () => {
          waiting -= 1;
          if (waiting === 0) resolve();
        };
      });
      let tries = 0;
      const take = (first: number, second: number) => {
        let met = false;
        return database.transaction(async (manager) => {
          tries += 1;
          await manager.change`UPDATE seat SET taken = taken + 1 WHERE id = ${first}`;
          if (!met) {
            met = true;
            arrived();
            await both;
          }
          await manager.change`UPDATE seat SET taken = taken + 1 WHERE id = ${second}`;
        });
      };
      await Promise.all([take(1, 2), take(2, 1)]);
      expect(await taken()).toEqual([2, 2]);
      expect(tries).toBeGreaterThanOrEqual(3); // they may well meet again
    });

    test('a transaction that fails for another reason than a conflict is not repeated', async () => {
      let tries = 0;
      const failing = database.transaction(async (manager) => {
        tries += 1;
        await manager.change`INSERT INTO seat VALUES (1, 0)`;
      });
      const error: unknown = await failing.catch((e: unknown) => e);
      expect([tries, isUniqueViolation(error)]).toEqual([1, true]);
    });
  });

  describe('transactions that read first', () => {
    const seats = sql`SELECT taken FROM seat ORDER BY id`;

    test('a transaction that reads first sends its BEGIN and first statements together', async () => {
      const source = beside(dataSource);
      const calls: string[] = [];
      source.onOpened((connection) => recordCalls(connection, calls));
      await new PostgresDatabase(source, new PaymentClock()).transaction(async (tx) => {
        await Promise.all([tx.rows({})`${seats}`, tx.rows({})`${seats}`]);
      }, true);
      const sent = 'sent';
      const answered = 'answered';
      expect(calls.slice(-8)).toEqual([sent, sent, sent, answered, answered, answered, sent, answered]);
      await source.close();
    });

    test('a transaction that cannot begin sends nothing more', async () => {
      class Unable extends PostgresDatabase {
        protected override bounds(): ReturnType<PostgresDatabase['bounds']> {
          return Promise.resolve({ begin: ['SELECT 1 / 0; START TRANSACTION'] });
        }
      }
      const unable = new Unable(beside(dataSource), new PaymentClock());
      const before = await taken();
      const work = unable.transaction(async (tx) => {
        await tx.rows({})`${seats}`;
        await tx.change`UPDATE seat SET taken = taken + 1`;
      }, true);
      await expect(work).rejects.toThrow('division by zero');
      expect(await taken()).toEqual(before);
    });
  });

  describe('statements outside any transaction', () => {
    test('a statement outside any transaction is repeated if it conflicts with another transaction', async () => {
      const options = '-c default_transaction_isolation=serializable';
      const strict = await new DataSource({ type: 'postgres', url: testDatabase.url, extra: { options } }).initialize();
      const other = dataSource.createQueryRunner();
      await other.startTransaction();
      await other.query('UPDATE seat SET taken = taken + 1 WHERE id = 1');
      const changed = new PostgresDatabase(beside(strict), new PaymentClock())
        .change`UPDATE seat SET taken = taken + 1 WHERE id = ${1}`;
      await until(
        () => dataSource.query<unknown[]>(`SELECT 1 FROM pg_locks WHERE NOT granted`),
        (waiting) => waiting.length > 0,
      );
      await other.commitTransaction();
      await expect(changed).resolves.toBe(1);
      await other.release();
      await strict.destroy();
    });
  });

  describe('claims', () => {
    test('a claim runs at READ COMMITTED even if the database has another default', async () => {
      await dataSource.query(`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = serializable',
      current_database()); END $$`);
      const strict = await new DataSource({ type: 'postgres', url: testDatabase.url }).initialize();
      const level = await new PostgresDatabase(beside(strict), new PaymentClock()).executeAtReadCommitted(
        prepare([], () => sql`SELECT current_setting('transaction_isolation') AS level`),
        {},
        {},
      );
      await strict.destroy();
      expect(level).toEqual([{ level: 'read committed' }]);
    });
  });
});

/** Records when statements are sent on a connection of `pg`, and when they are answered. */
function recordCalls(connection: object, calls: string[]): void {
  const client = connection as { query(query: object, done: (...answer: unknown[]) => void): unknown };
  const query = client.query.bind(client);
  client.query = (given, done) => {
    calls.push('sent');
    return query(given, (...answer) => {
      calls.push('answered');
      done(...answer);
    });
  };
}
