import { expect, test } from '@jest/globals';
import { createTestDatabase, onPostgres } from '../../../../test/support/database.js';
import { PaymentClock } from '../common/clock.js';
import { openDatabase } from './open-database.js';
import { openPgPool, openStorage, type PgPoolClass } from './pool-source.js';
import { flag, integer } from './reading.js';

onPostgres(test)('limits in the address of the storage do not apply to statements of the module', async () => {
  const created = await createTestDatabase();
  const source = await openStorage({
    url: `${created.url}?statement_timeout=20&lock_timeout=30&application_name=theirs`,
  });
  try {
    const database = await openDatabase(source, new PaymentClock());
    const [row] = await database.rows<{ limits: string; slept: string }>({})`SELECT pg_sleep(0.1)::text AS slept,
      concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout')) AS limits`;
    expect(row?.limits).toBe('0 0');
  } finally {
    await source.close();
    await created.drop();
  }
});

onPostgres(test)('a start fails if the pool of the host has no connection for it', async () => {
  const created = await createTestDatabase();
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ connectionString: created.url, max: 1 });
  const held = await pool.connect();
  try {
    const opening = openDatabase(await openStorage({ pool }), new PaymentClock(), { statementTimeoutMs: 50 });
    await expect(opening).rejects.toMatchObject({ code: 'pool-exhausted' });
  } finally {
    held.release();
    await pool.end();
    await created.drop();
  }
});

onPostgres(test)('a module gets its values as text, even if the pool is set to binary', async () => {
  const created = await createTestDatabase();
  const { default: pg } = await import('pg');
  const source = openPgPool(pg.Pool as unknown as PgPoolClass, { connectionString: created.url, binary: true }, 1);
  try {
    const database = await openDatabase(source, new PaymentClock());
    const id = '0b7f9f0e-51a6-4c5d-8b1e-2f3a4b5c6d7e';
    expect(await database.rows({})`SELECT ${id}::uuid AS id`).toEqual([{ id }]);
  } finally {
    await source.close();
    await created.drop();
  }
});

onPostgres(test)('type parsers of the host do not change what the module reads', async () => {
  const created = await createTestDatabase();
  const { default: pg } = await import('pg');
  const parsersOfHost = { getTypeParser: () => () => 'parsed by the host' };
  const source = openPgPool(
    pg.Pool as unknown as PgPoolClass,
    { connectionString: created.url, types: parsersOfHost },
    1,
  );
  try {
    const database = await openDatabase(source, new PaymentClock());
    const readers = { count: integer, isSet: flag };
    const rows = await database.rows<{ count: number; isSet: boolean; name: string }>(readers)`
      SELECT 7::int4 AS count, true AS "isSet", 'name' AS name`;
    expect(rows).toEqual([{ count: 7, isSet: true, name: 'name' }]);
  } finally {
    await source.close();
    await created.drop();
  }
});
