import type { DataSource, EntityManager } from 'typeorm';
import { PaymentClock } from '../common/clock.js';
import type { Database } from './database.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { MARIA_MIGRATIONS, migrateMaria } from './mariadb/migrate.js';
import type { Migration } from './migration.js';
import { initial } from './migrations/0001-initial.js';
import { retention } from './migrations/0002-retention.js';
import { traceContext } from './migrations/0003-trace-context.js';
import { consoleIndexes } from './migrations/0004-console.js';
import { dueOfShop } from './migrations/0005-due-of-shop.js';
import { claimsInPlace } from './migrations/0006-claims-in-place.js';
import { callbacksThatWait } from './migrations/0007-callbacks-that-wait.js';
import { deliveriesOfABill } from './migrations/0008-deliveries-of-a-bill.js';
import { openDatabase } from './open-database.js';
import { SchemaBehindError } from './storage.errors.js';

const MIGRATIONS: readonly Migration[] = [
  initial,
  retention,
  traceContext,
  consoleIndexes,
  dueOfShop,
  claimsInPlace,
  callbacksThatWait,
  deliveriesOfABill,
];
const NEEDED = Math.max(...MIGRATIONS.map(({ version }) => version));
/** Any constant of ours: instances that start together take turns on it. */
const ADVISORY_LOCK = 7_320_114_905;

/**
 * Brings the module's tables (schema `payment_acceptance`; on MariaDB a prefix) up to date, under an advisory lock, on
 * PostgreSQL each migration in one transaction. One that cannot have a table for itself within some seconds, since somebody
 * reads it for long, fails and can be repeated.
 * Touches nothing of the host's and runs none of its migrations. Safe to call from several processes at once.
 * @throws UnsupportedDataSourceError
 */
export async function migratePaymentAcceptance(dataSource: DataSource): Promise<void> {
  const database = await openDatabase(dataSource, new PaymentClock());
  if ((await missing(database)).length === 0) return;
  if (database instanceof MariaDatabase) {
    await migrateMaria(database, (manager) => missing(database, manager));
    return;
  }
  // Each in a transaction of its own: none keeps two tables from others.
  while (await migrateNext(database));
}

/** `false` where nothing was missing. */
function migrateNext(database: Database): Promise<boolean> {
  return database.transaction(async (manager) => {
    await database.query(`SELECT pg_advisory_xact_lock($1)`, [ADVISORY_LOCK], manager);
    await createSchema(database, manager);
    await database.query(
      `CREATE TABLE IF NOT EXISTS payment_acceptance.migration (
        version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
      [],
      manager,
    );
    const [migration] = await missing(database, manager);
    if (!migration) return false;
    for (const statement of migration.statements) await database.query(statement, [], manager);
    await database.query(
      `INSERT INTO payment_acceptance.migration (version, name) VALUES ($1, $2)`,
      [migration.version, migration.name],
      manager,
    );
    return true;
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
  const [first] = await missing(database);
  if (first) throw new SchemaBehindError(first === MARIA_MIGRATIONS[0] ? 0 : first.version - 1, NEEDED);
}

/** What the tables lack, in order. Tables of a later release lack nothing. */
async function missing(database: Database, manager?: EntityManager): Promise<readonly Migration[]> {
  const maria = database instanceof MariaDatabase;
  const all = maria ? MARIA_MIGRATIONS : MIGRATIONS;
  const [table] = await database.query<{ exists: boolean }>(
    maria
      ? `SELECT EXISTS (SELECT 1 FROM information_schema.tables
           WHERE table_schema = DATABASE() AND table_name = 'payment_acceptance_migration') AS "exists"`
      : `SELECT to_regclass('payment_acceptance.migration') IS NOT NULL AS "exists"`,
    [],
    manager,
  );
  if (!table?.exists) return all;
  const rows = await database.query<{ version: number }>(
    `SELECT version::int AS version FROM payment_acceptance.migration`,
    [],
    manager,
  );
  const present = new Set(rows.map(({ version }) => version));
  return all.filter(({ version }) => !present.has(version));
}
