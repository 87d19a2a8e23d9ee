import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { DataSource } from 'typeorm';

export interface TestDatabase {
  /** `postgres://…`, or `mariadb://…`, of an empty database that only the caller knows. */
  readonly url: string;
  /** Removes it, with whatever is still connected. */
  drop(): Promise<void>;
}

/** Whether the suites run on MariaDB: `TEST_DATABASE=mariadb`, on the server that `TEST_MARIADB_URL` names. */
export const ON_MARIADB = process.env.TEST_DATABASE === 'mariadb';

/** For what PostgreSQL alone has: statements of a test, or facts of the server. */
export const onPostgres = <T>(test: T & { skip: T }): T => (ON_MARIADB ? test.skip : test);

/** Makes a new database, on the server that `TEST_DATABASE_URL` names or that Jest's global set-up has started. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  // Loaded where it is needed: what all specs import, all pay for.
  if (ON_MARIADB) return (await import('./maria-database.js')).createMariaDatabase(name);
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  await administer(`CREATE DATABASE "${name}"${await copying()}`);
  return {
    url: url.href,
    async drop() {
      await administer(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
    },
  };
}

/** Type and address of a test's database, for a TypeORM data source. */
export function connectionOf(url: string): { type: 'postgres' | 'mariadb'; url: string } {
  return { type: url.startsWith('mariadb:') ? 'mariadb' : 'postgres', url };
}

/** A host's data source for the statements of tests, which are PostgreSQL's: it takes them on MariaDB too. */
export async function forTestSql(dataSource: DataSource): Promise<DataSource> {
  return ON_MARIADB ? (await import('./maria-database.js')).speakTestSql(dataSource) : dataSource;
}

let files: Promise<boolean> | undefined;

/** Copies files instead of logging pages, a tenth of the time; PostgreSQL before 15 does nothing else. */
async function copying(): Promise<string> {
  files ??= administer('SHOW server_version_num').then(({ rows }) => Number(rows[0]?.server_version_num) >= 150_000);
  return (await files) ? ' STRATEGY FILE_COPY' : '';
}

function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (!url)
    throw new Error('TEST_DATABASE_URL is not set: run the tests through Jest with the configuration of the root');
  return url;
}

async function administer(statement: string): Promise<pg.QueryResult<Record<string, string>>> {
  const client = new pg.Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    return await client.query(statement);
  } finally {
    await client.end();
  }
}
