import { randomBytes } from 'node:crypto';
import pg from 'pg';

export interface TestDatabase {
  /** `postgres://…` of an empty database that only the caller knows. */
  readonly url: string;
  /** Removes it, with whatever is still connected. */
  drop(): Promise<void>;
}

/** Makes a new database, on the server that `TEST_DATABASE_URL` names or that Jest's global set-up has started. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const name = `test_${process.pid}_${randomBytes(6).toString('hex')}`;
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  await administer(`CREATE DATABASE "${name}"`);
  return { url: url.href, drop: () => administer(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`) };
}

function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (!url)
    throw new Error('TEST_DATABASE_URL is not set: run the tests through Jest with the configuration of the root');
  return url;
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
