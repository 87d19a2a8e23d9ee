import type { DataSource, EntityManager } from 'typeorm';
import { PaymentClock } from '../common/clock.js';
import type { Database } from './database.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { MARIA_MIGRATIONS, mariaTables, migrateMaria } from './mariadb/migrate.js';
import type { Migration } from './migration.js';
import { openDatabase } from './open-database.js';
import { migratePostgres, POSTGRES_MIGRATIONS, postgresTables } from './postgres/migrate.js';
import { integer } from './reading.js';
import { MIGRATION_STATEMENT_MS } from './statement-limit.js';
import { sql } from './statement.js';
import { SchemaBehindError } from './storage.errors.js';

/** Where `migratePaymentAcceptance` makes the tables. */
export interface MigrationOptions {
  /** As in the options of the module (`schema`). Default `payment_acceptance`. */
  schema?: string;
}

/**
 * Brings the module's tables up to date (in a schema of their own, on MariaDB under a prefix), under a lock, on PostgreSQL
 * each migration in one transaction. One that cannot have a table for itself within some seconds, since somebody reads it
 * for long, fails and can be repeated.
 * Touches nothing of the host's and runs none of its migrations. Safe to call from several processes at once.
 * @throws UnsupportedDataSourceError, RangeError for a name that cannot be a schema's
 */
export async function migratePaymentAcceptance(
  dataSource: DataSource,
  { schema }: MigrationOptions = {},
): Promise<void> {
  const database = await openDatabase(dataSource, new PaymentClock(), schema);
  database.statementMs = MIGRATION_STATEMENT_MS;
  if ((await missing(database)).length === 0) return;
  const migrate = database instanceof MariaDatabase ? migrateMaria : migratePostgres;
  await migrate(database, (manager) => missing(database, manager));
}

/** @throws SchemaBehindError where the tables are older than this release. */
export async function verifySchema(database: Database): Promise<void> {
  const [first] = await missing(database);
  if (!first) return;
  const all = migrationsFor(database);
  const before = first === all[0] ? 0 : first.version - 1;
  throw new SchemaBehindError(before, Math.max(...all.map(({ version }) => version)));
}

/** What the tables lack, in order. Tables of a later release lack nothing. */
async function missing(database: Database, manager?: EntityManager): Promise<readonly Migration[]> {
  const all = migrationsFor(database);
  const tables = database instanceof MariaDatabase ? mariaTables : postgresTables;
  if (!(await tables(database, manager))) return all;
  const rows = await database.rows<{ version: number }>(
    sql`SELECT version FROM payment_acceptance.migration`,
    { version: integer },
    manager,
  );
  const present = new Set(rows.map(({ version }) => version));
  return all.filter(({ version }) => !present.has(version));
}

function migrationsFor(database: Database): readonly Migration[] {
  return database instanceof MariaDatabase ? MARIA_MIGRATIONS : POSTGRES_MIGRATIONS;
}
