import mysql from 'mysql2/promise';
import type { DataSource } from 'typeorm';
import { spell } from './test-sql.js';
import type { TestDatabase } from './database.js';

const CHILDREN_FIRST = [
  'lost_bill',
  'operator_action',
  'delivery',
  'event',
  'review',
  'payment',
  'callback',
  'bill',
  'shop_order',
]
  .map((table) => `payment_acceptance.${table}`)
  .concat('effect');

/** The same data source, whose `query` accepts a test's PostgreSQL statements on MariaDB, too. */
export function speakTestSql(dataSource: DataSource): DataSource {
  const spelling =
    (query: (text: string, parameters: unknown[]) => Promise<unknown>) =>
    async (sql: string, parameters: unknown[] = []): Promise<unknown> => {
      if (sql.startsWith('TRUNCATE ')) {
        for (const table of CHILDREN_FIRST) if (sql.includes(table)) await spelling(query)(`DELETE FROM ${table}`);
        return [];
      }
      const [first = '', ...more] = parameters.length === 0 ? sql.split(/;\s*(?=\S)/) : [sql];
      if (more.length > 0) {
        await spelling(query)(first);
        return spelling(query)(more.join('; '));
      }
      const whole = sql.includes('to_jsonb(t) AS row');
      const { text, order, counts } = spell(
        sql
          .replace(
            `table_name AS name FROM information_schema.tables WHERE table_schema = 'payment_acceptance'`,
            `REPLACE(table_name, 'payment_acceptance_', '') AS name FROM information_schema.tables
             WHERE table_schema = DATABASE() AND table_name LIKE 'payment_acceptance_%'`,
          )
          .replace(/RENAME TO (\w+)/, 'RENAME TO payment_acceptance.$1')
          .replace('to_jsonb(t) AS row', 't.*')
          .replace(/\$(\d+) \* interval '1 day'/, 'INTERVAL $$$1 DAY')
          .replace(/generate_series\(1, \$(\d+)\)/, (_, place) => `seq_1_to_${String(parameters[Number(place) - 1])}`),
      );
      const flags = Array.from(sql.matchAll(/::boolean AS "?(\w+)"?/g), ([, name = '']) => name);
      const values = order.map((index) => parameters[index]);
      const result = await query(text, values);
      const rows = Array.isArray(result) ? (result as Record<string, unknown>[]) : [];
      for (const row of rows) {
        for (const name of counts) row[name] = Number(row[name]);
        for (const name of flags) row[name] = row[name] === null ? null : Number(row[name]) === 1;
      }
      if (!whole) return result;
      // Without MariaDB's internal index columns.
      return rows.map(({ unredacted_at: _, creating_until: __, noted_at: ___, ...row }) => ({
        row: 'pending' in row ? { ...row, pending: row.pending === 1 } : row,
      }));
    };
  return Object.create(dataSource, {
    query: { value: spelling((text, parameters) => dataSource.query(text, parameters)) },
    createQueryRunner: {
      value: () => {
        const runner = dataSource.createQueryRunner();
        runner.query = spelling(runner.query.bind(runner)) as typeof runner.query;
        return runner;
      },
    },
  }) as DataSource;
}

/** PostgreSQL's functions that the tests' statements call. A connection inside a transaction counts as a killed process's. */
const WORDS_OF_POSTGRES = `
  CREATE FUNCTION pg_sleep(seconds DOUBLE) RETURNS INT NO SQL RETURN SLEEP(seconds);
  CREATE FUNCTION gen_random_uuid() RETURNS CHAR(36) NO SQL RETURN UUID();
  CREATE FUNCTION current_database() RETURNS VARCHAR(64) NO SQL RETURN DATABASE();
  CREATE VIEW pg_stat_activity AS SELECT p.id AS pid, p.db AS datname, p.info AS query,
    IF(t.trx_id IS NULL, '', 'killed') AS application_name
  FROM information_schema.processlist p LEFT JOIN information_schema.innodb_trx t ON t.trx_mysql_thread_id = p.id
  WHERE p.db = DATABASE();`;

export async function createMariaDatabase(name: string): Promise<TestDatabase> {
  const server = process.env.TEST_MARIADB_URL ?? 'mariadb://root@127.0.0.1:3306/test';
  const run = async (statement: string): Promise<void> => {
    const connection = await mysql.createConnection({
      uri: server.replace(/^mariadb:/, 'mysql:'),
      multipleStatements: true,
    });
    await connection.query(statement).finally(() => connection.end());
  };
  const url = new URL(server);
  url.pathname = `/${name}`;
  await run(`CREATE DATABASE ${name}; USE ${name}; ${WORDS_OF_POSTGRES}`);
  return { url: url.href.replace(/^mysql:/, 'mariadb:'), drop: () => run(`DROP DATABASE IF EXISTS ${name}`) };
}
