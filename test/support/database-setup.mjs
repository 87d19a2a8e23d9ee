import { startTemporaryPostgres } from '../../scripts/lib/postgres.mjs';

/** Jest's global set-up: one PostgreSQL for the whole run, unless TEST_DATABASE_URL names one. */
export default async function setUp() {
  if (process.env.TEST_DATABASE_URL) return;
  const server = await startTemporaryPostgres();
  process.env.TEST_DATABASE_URL = server.url; // the workers inherit it
  globalThis.testDatabaseServer = server;
}
