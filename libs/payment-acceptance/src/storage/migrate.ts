import type { DataSource, EntityManager } from 'typeorm';
import { PaymentClock } from '../common/clock.js';
import { Database } from './database.js';
import type { Migration } from './migration.js';
import { initial } from './migrations/0001-initial.js';
import { SchemaBehindError } from './storage.errors.js';

const MIGRATIONS: readonly Migration[] = [initial];
const NEEDED = Math.max(...MIGRATIONS.map(({ version }) => version));
/** Any constant of ours: instances that start together take turns on it. */
const ADVISORY_LOCK = 7_320_114_905;

/**
 * Brings the module's tables (schema `payment_acceptance`) up to date, in one transaction under an advisory lock.
 * Touches nothing of the host's and runs none of its migrations. Safe to call from several processes at once.
 * @throws UnsupportedDataSourceError
 */
export async function migratePaymentAcceptance(dataSource: DataSource): Promise<void> {
  const database = new Database(dataSource, new PaymentClock());
  if ((await presentVersion(database)) >= NEEDED) return;
  await database.transaction(async (manager) => {
    await database.query(`SELECT pg_advisory_xact_lock($1)`, [ADVISORY_LOCK], manager);
    await createSchema(database, manager);
    await database.query(
      `CREATE TABLE IF NOT EXISTS payment_acceptance.migration (
        version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
      [],
      manager,
    );
    const present = await presentVersion(database, manager);
    for (const migration of MIGRATIONS.filter(({ version }) => version > present)) {
      for (const statement of migration.statements) await database.query(statement, [], manager);
      await database.query(
        `INSERT INTO payment_acceptance.migration (version, name) VALUES ($1, $2)`,
        [migration.version, migration.name],
        manager,
      );
    }
  });
}

/** A schema that an administrator has made already needs no right to make one. */
async function createSchema(database: Database, manager: EntityManager): Promise<void> {
  const [schema] = await database.query<{ exists: boolean }>(
    `SELECT to_regnamespace('payment_acceptance') IS NOT NULL AS "exists"`,
    [],
    manager,
  );
  if (!schema?.exists) await database.query(`CREATE SCHEMA payment_acceptance`, [], manager);
}

/** @throws SchemaBehindError where the tables are older than this release. */
export async function verifySchema(database: Database): Promise<void> {
  const present = await presentVersion(database);
  if (present < NEEDED) throw new SchemaBehindError(present, NEEDED);
}

async function presentVersion(database: Database, manager?: EntityManager): Promise<number> {
  const [table] = await database.query<{ exists: boolean }>(
    `SELECT to_regclass('payment_acceptance.migration') IS NOT NULL AS "exists"`,
    [],
    manager,
  );
  if (!table?.exists) return 0;
  const [row] = await database.query<{ version: number }>(
    `SELECT coalesce(max(version), 0)::int AS version FROM payment_acceptance.migration`,
    [],
    manager,
  );
  return row?.version ?? 0;
}
