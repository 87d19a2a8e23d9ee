import { randomBytes } from 'node:crypto';
import { startTemporaryPostgres } from '../../scripts/lib/postgres.mjs';

/** Jest's global setup: one PostgreSQL for the whole run, unless TEST_DATABASE_URL names one, or the run uses MariaDB. */
export default async function setUp() {
  process.env.TEST_TEMPLATE_PREFIX = `test_template_${randomBytes(6).toString('hex')}`; // the workers inherit it
  if (process.env.TEST_DATABASE_URL || process.env.TEST_DATABASE === 'mariadb') return;
  const server = await startTemporaryPostgres();
  process.env.TEST_DATABASE_URL = server.url;
  Object.assign(globalThis, { testDatabaseServer: server });
}
