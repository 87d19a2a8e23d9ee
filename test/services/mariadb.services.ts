import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import mysql from 'mysql2/promise';
import { randomBytes } from 'node:crypto';
import { migratePaymentAcceptance } from 'nestjs-payment-acceptance';
import { DataSource } from 'typeorm';
import { PaymentClock } from '../../libs/payment-acceptance/src/common/clock.js';
import { isUniqueViolation, mayConcernOneRow } from '../../libs/payment-acceptance/src/database/query-errors.js';
import { instant } from '../../libs/payment-acceptance/src/database/reading.js';
import { rawSql, sql } from '../../libs/payment-acceptance/src/database/statement.js';
import { HandlerTransactions } from '../../libs/payment-acceptance/src/database/handler-transactions.js';
import { MariaHostSessions } from '../../libs/payment-acceptance/src/database/mariadb/host-sessions.js';
import { typeOrmTransactions } from '../../libs/payment-acceptance/src/database/typeorm-transactions.js';
import { MariaDatabase } from '../../libs/payment-acceptance/src/database/mariadb/maria.database.js';
import { MARIA_MIGRATIONS } from '../../libs/payment-acceptance/src/database/mariadb/migrate.js';
import { initial } from '../../libs/payment-acceptance/src/database/mariadb/migrations/0001-initial.js';
import { managerOf } from '../support/transactions.js';
import { hasNoConnectionLeft } from '../../libs/payment-acceptance/src/database/query-errors.js';
import { beside } from '../support/beside.js';

const server = process.env.TEST_MARIADB_URL ?? 'mariadb://root@127.0.0.1:3306/test';
const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
const open: DataSource[] = [];

async function administer(statement: string): Promise<void> {
  const connection = await mysql.createConnection(server.replace(/^mariadb:/, 'mysql:'));
  await connection.query(statement).finally(() => connection.end());
}

async function connect(extra: object = {}, user?: string): Promise<DataSource> {
  const url = new URL(server);
  url.pathname = `/${name}`;
  if (user !== undefined) url.username = user;
  const dataSource = await new DataSource({ type: 'mariadb', url: url.href, ...extra }).initialize();
  open.push(dataSource);
  return dataSource;
}

beforeAll(() => administer(`CREATE DATABASE ${name}`));
afterEach(async () => {
  for (const dataSource of open.splice(0)) await dataSource.destroy();
  await administer(`DROP DATABASE ${name}`);
  await administer(`CREATE DATABASE ${name}`);
});
afterAll(() => administer(`DROP DATABASE ${name}`));

const tables = async (dataSource: DataSource): Promise<number> =>
  (await dataSource.query<unknown[]>(`SHOW TABLES LIKE 'payment_acceptance_%'`)).length;

/** The tables of the migrations, and the one that records which migrations are done. */
const ALL_TABLES =
  MARIA_MIGRATIONS.flatMap(({ statements }) => statements).filter((statement) => /^\s*CREATE TABLE/.test(statement))
    .length + 1;

describe('the tables on MariaDB', () => {
  test('the tables are created once by processes that start together, and migrating again changes nothing', async () => {
    const all = await Promise.all([connect(), connect(), connect()]);
    await Promise.all(all.map((dataSource) => migratePaymentAcceptance(dataSource)));
    const [first] = all;
    expect(await tables(first)).toBe(ALL_TABLES);
    await migratePaymentAcceptance(first);
    const rows: unknown[] = await first.query('SELECT version FROM payment_acceptance_migration ORDER BY version');
    expect(rows).toEqual(MARIA_MIGRATIONS.map(({ version }) => ({ version })));
  });

  test('the tables are completed by the next process, wherever the first was killed', async () => {
    for (let done = 0; done <= initial.statements.length; done += 1) {
      const dataSource = await connect();
      const database = new MariaDatabase(beside(dataSource), new PaymentClock());
      for (const statement of initial.statements.slice(0, done)) await database.change`${rawSql(statement)}`;
      await migratePaymentAcceptance(dataSource);
      expect(await tables(dataSource)).toBe(ALL_TABLES);
      await administer(`DROP DATABASE ${name}`);
      await administer(`CREATE DATABASE ${name}`);
    }
  });

  test('a migration does not wait for a process that was killed while migrating', async () => {
    const killed = await connect();
    const runner = killed.createQueryRunner();
    await runner.query(`SELECT GET_LOCK(CONCAT('payment_acceptance:', MD5(DATABASE())), 0)`);
    const [{ id }] = (await runner.query('SELECT CONNECTION_ID() AS id')) as [{ id: string }];
    const other = await connect();
    const migrating = migratePaymentAcceptance(other);
    await administer(`KILL ${id}`);
    await migrating;
    expect(await tables(other)).toBe(ALL_TABLES);
    await runner.release().catch(() => undefined);
  });

  test('a condition with an empty list reads and locks no rows', async () => {
    const dataSource = await connect();
    await migratePaymentAcceptance(dataSource);
    await dataSource.query(
      "INSERT INTO payment_acceptance_consumer (name, event_name, last_seen_at) VALUES ('a', 'e', NOW())",
    );
    const rival = dataSource.createQueryRunner();
    await rival.startTransaction();
    await rival.query("UPDATE payment_acceptance_consumer SET event_name = 'held'");
    const database = new MariaDatabase(beside(dataSource), new PaymentClock());
    database.connections.statementTimeoutMs = 1_000;
    try {
      const none = database.dialect.oneOf([], 'text');
      const change = sql`UPDATE payment_acceptance.consumer SET event_name = 'changed' WHERE name ${none}`;
      expect(await database.change`${change}`).toBe(0);
    } finally {
      await rival.rollbackTransaction();
      await rival.release();
    }
  });

  test('ids are compared byte by byte, with trailing blanks and case, and too long ones are refused', async () => {
    const dataSource = await connect();
    await migratePaymentAcceptance(dataSource);
    const database = new MariaDatabase(beside(dataSource), new PaymentClock());
    const insert = (order: string) =>
      database.change`INSERT INTO payment_acceptance.shop_order (shop, order_id) VALUES ('main', ${order})`;
    for (const order of ['a', 'A', 'a ', 'ä', 'a\u0301', '😀']) await insert(order);
    const same: unknown = await insert('a').catch((error: unknown) => error);
    const long: unknown = await insert('x'.repeat(256)).catch((error: unknown) => error);
    expect([isUniqueViolation(same), isUniqueViolation(long), mayConcernOneRow(long)]).toEqual([true, false, true]);
  });
});

describe('a server with other settings', () => {
  test.each([
    '',
    'STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES',
    'STRICT_TRANS_TABLES,PIPES_AS_CONCAT',
    'STRICT_TRANS_TABLES,HIGH_NOT_PRECEDENCE',
    'STRICT_TRANS_TABLES,EMPTY_STRING_IS_NULL',
  ])('a server with sql_mode "%s" is refused', async (mode) => {
    const database = new MariaDatabase(beside(await connect(), 1), new PaymentClock());
    await database.change`${rawSql(`SET SESSION sql_mode = '${mode}'`)}`;
    await expect(database.verify()).rejects.toThrow(/sql_mode/);
  });

  test('connections whose transactions begin another one when they end are refused', async () => {
    const database = new MariaDatabase(beside(await connect(), 1), new PaymentClock());
    await database.change`${rawSql("SET SESSION completion_type = 'CHAIN'")}`;
    await expect(database.verify()).rejects.toThrow(/completion_type = CHAIN/);
  });

  test('connections without autocommit are refused', async () => {
    const database = new MariaDatabase(beside(await connect(), 1), new PaymentClock());
    await database.change`${rawSql('SET SESSION autocommit = 0')}`;
    await expect(database.verify()).rejects.toThrow(/autocommit = 0/);
  });
});

describe('a connection with another character set', () => {
  test.each(['latin1', 'cp1251'])('a connection with the charset "%s" is refused', async (charset) => {
    const dataSource = await connect({ charset });
    await expect(new MariaDatabase(beside(dataSource), new PaymentClock()).verify()).rejects.toThrow(
      /character sets .* leave the data source's option "charset"/,
    );
  });

  test('a data source with the charset utf8mb4 is accepted', async () => {
    const dataSource = await connect({ charset: 'utf8mb4' });
    await new MariaDatabase(beside(dataSource), new PaymentClock()).verify();
  });
});

describe('a server without a free connection', () => {
  test('the error of a server without a free connection is recognised', async () => {
    await administer('CREATE USER one_connection WITH MAX_USER_CONNECTIONS 1');
    try {
      await administer(`GRANT ALL ON ${name}.* TO one_connection`);
      const dataSource = await connect({}, 'one_connection');
      const refusal = await new MariaDatabase(beside(dataSource), new PaymentClock())
        .verify()
        .catch((error: unknown) => error);
      expect(hasNoConnectionLeft(refusal)).toBe(true);
    } finally {
      for (const dataSource of open.splice(0)) await dataSource.destroy();
      await administer('DROP USER one_connection');
    }
  });
});

describe('timestamps', () => {
  test.each(['+05:30', '-11:00', 'SYSTEM'])("timestamps do not depend on the session's time zone %s", async (zone) => {
    const database = new MariaDatabase(beside(await connect({ timezone: '+03:00' }), 1), new PaymentClock());
    await database.change`${rawSql(`SET SESSION time_zone = '${zone}'`)}`;
    const { dialect } = database;
    const [row] = await database.rows<{ now: Date }>({
      now: instant,
    })`SELECT ${dialect.epochMs(dialect.now(0))} AS now`;
    expect(Math.abs(Number(row?.now) - Date.now())).toBeLessThan(5_000);
  });
});

describe("a handler's transaction", () => {
  const LIMITS = { signal: new AbortController().signal, connectMs: 60_000, unattendedMs: 60_000 };

  test("a handler's work that continued after a deadlock had rolled it back is not kept", async () => {
    const dataSource = await connect();
    await dataSource.query('CREATE TABLE seat (id int PRIMARY KEY, taken int NOT NULL) ENGINE=InnoDB');
    await dataSource.query('INSERT INTO seat VALUES (1, 0), (2, 0), (3, 0)');
    const database = new MariaDatabase(beside(dataSource), new PaymentClock());
    const layer = typeOrmTransactions(dataSource, () => Promise.resolve('READ COMMITTED'));
    const transaction = new HandlerTransactions(layer, new MariaHostSessions(database), () => undefined);
    const rival = dataSource.createQueryRunner();
    await rival.startTransaction('READ COMMITTED');
    // The rival has written more, so the server chooses the handler's transaction as the victim.
    await rival.query('UPDATE seat SET taken = 9 WHERE id IN (2, 3)');
    let failure: unknown;
    const work = transaction.run(LIMITS, async (within) => {
      const manager = managerOf(within);
      await manager.query('UPDATE seat SET taken = 1 WHERE id = 1');
      const deadlock = manager
        .query('UPDATE seat SET taken = 1 WHERE id = 2')
        .catch((error: unknown) => (failure = error));
      await rival.query('UPDATE seat SET taken = 9 WHERE id = 1');
      await deadlock;
      await rival.rollbackTransaction();
      await manager.query('UPDATE seat SET taken = 7 WHERE id = 3');
    });
    await expect(work).rejects.toThrow('A statement of the transaction has failed');
    expect(String(failure)).toMatch(/deadlock/i);
    await rival.release();
    const rows: { taken: number }[] = await dataSource.query('SELECT taken FROM seat ORDER BY id');
    expect(rows.map(({ taken }) => taken)).toEqual([0, 0, 0]);
  });
});
