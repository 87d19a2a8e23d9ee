import pg from 'pg';

/** @typedef {typeof globalThis & { testDatabaseServer?: import('../../scripts/lib/postgres.mjs').RunningPostgres }} Shared */

/** Jest's global teardown. If it is never reached, the server ends with the process. */
export default async function tearDown() {
  const { testDatabaseServer } = /** @type {Shared} */ (globalThis);
  if (testDatabaseServer) {
    await testDatabaseServer.stop();
    delete process.env.TEST_DATABASE_URL;
  } else if (process.env.TEST_DATABASE_URL) await dropTemplates();
}

/** For a server that outlives the run. */
async function dropTemplates() {
  const client = new pg.Client({ connectionString: process.env.TEST_DATABASE_URL });
  await client.connect();
  const { rows } = await client.query('SELECT datname FROM pg_database WHERE starts_with(datname, $1)', [
    process.env.TEST_TEMPLATE_PREFIX,
  ]);
  for (const { datname } of rows) await client.query(`DROP DATABASE "${datname}"`);
  await client.end();
}
