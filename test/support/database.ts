import { randomBytes } from 'node:crypto';
import pg from 'pg';
import type { DataSource } from 'typeorm';

export interface TestDatabase {
  /** `postgres://…` or `mariadb://…` address of an empty database that only the caller uses. */
  readonly url: string;
  /** Drops it, and closes connections that are still open. */
  drop(): Promise<void>;
}

/** Whether the suites run on MariaDB: `TEST_DATABASE=mariadb`, on the server that `TEST_MARIADB_URL` names. */
export const ON_MARIADB = process.env.TEST_DATABASE === 'mariadb';

/** For tests that need PostgreSQL's own statements or behaviour. */
export const onPostgres = <T>(test: T & { skip: T }): T => (ON_MARIADB ? test.skip : test);

/** The initial contents of new databases. Created once per run, and copied. */
export interface DatabaseTemplate {
  readonly name: string;
  fill(url: string): Promise<void>;
}

/** Creates a database on the server that `TEST_DATABASE_URL` names, or that Jest's global setup has started. */
export async function createTestDatabase(template?: DatabaseTemplate): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  if (ON_MARIADB) {
    // Imported only if needed, because every spec would pay for it.
    const database = await (await import('./maria-database.js')).createMariaDatabase(name);
    await template?.fill(database.url);
    return database;
  }
  const source = template && (await templateDatabase(template));
  await administer(`CREATE DATABASE "${name}"${source ? ` TEMPLATE "${source}"` : ''}${await copying()}`);
  return {
    url: urlOf(name),
    async drop() {
      await administer(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`);
    },
  };
}

/** Type and address of a test's database, for a TypeORM data source. */
export function connectionOf(url: string): { type: 'postgres' | 'mariadb'; url: string } {
  return { type: url.startsWith('mariadb:') ? 'mariadb' : 'postgres', url };
}

/** A host's data source that accepts the tests' PostgreSQL statements on MariaDB, too. */
export async function forTestSql(dataSource: DataSource): Promise<DataSource> {
  return ON_MARIADB ? (await import('./maria-database.js')).speakTestSql(dataSource) : dataSource;
}

const templates = new Map<string, Promise<string>>();

function templateDatabase(template: DatabaseTemplate): Promise<string> {
  const known = templates.get(template.name) ?? makeTemplate(template);
  templates.set(template.name, known);
  return known;
}

/** One process of the run creates it while the others wait. It gets its final name when it is complete. */
async function makeTemplate({ name, fill }: DatabaseTemplate): Promise<string> {
  const whole = `${process.env.TEST_TEMPLATE_PREFIX}_${name}`;
  const partial = `${whole}_partial`;
  await withServer(async (client) => {
    await client.query('SELECT pg_advisory_lock(hashtext($1))', [whole]);
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [whole]);
    if (rowCount) return;
    await client.query(`DROP DATABASE IF EXISTS "${partial}" WITH (FORCE)`);
    await client.query(`CREATE DATABASE "${partial}"`);
    await fill(urlOf(partial));
    await client.query(`ALTER DATABASE "${partial}" RENAME TO "${whole}"`);
  });
  return whole;
}

let files: Promise<boolean> | undefined;

/** Copies files instead of logging pages, in a tenth of the time. PostgreSQL before 15 has no other strategy. */
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

function urlOf(database: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${database}`;
  return url.href;
}

function administer(statement: string): Promise<pg.QueryResult<Record<string, string>>> {
  return withServer((client) => client.query(statement));
}

async function withServer<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
