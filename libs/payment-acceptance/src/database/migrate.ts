import type { ConnectionSource } from './connection-source.js';
import type { Database } from './database.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { MARIA_MIGRATIONS, mariaTables, migrateMaria } from './mariadb/migrate.js';
import type { Migration } from './migration.js';
import { openForTool, withConnections } from './open-database.js';
import type { PaymentStorageOptions } from './storage-options.js';
import type { TypeOrmDataSource } from './typeorm-source.js';
import { migratePostgres, POSTGRES_MIGRATIONS, postgresTables } from './postgres/migrate.js';
import { integer } from './reading.js';
import { MIGRATION_STATEMENT_TIMEOUT_MS } from './statement-timeout.js';
import { PaymentSchemaBehindError } from './database.errors.js';
import type { OwnTransaction } from './own-transaction.js';

/** Options of `migratePaymentAcceptance`. */
export interface MigrationOptions {
  /** As the module's option `schema`. Default `payment_acceptance`. */
  schema?: string;
}

/**
 * Brings the module's tables up to date (in their own schema, on MariaDB under a prefix), under a lock; on PostgreSQL
 * each migration runs in one transaction. A migration that cannot lock a table within a few seconds, because of a
 * long-running query, fails and can be repeated. Touches nothing of the host's and runs none of its migrations. Safe to
 * call from several processes at once.
 * @param database a TypeORM data source, or what the option `storage` takes
 * @throws PaymentUnsupportedDataSourceError, or RangeError for an invalid schema name
 */
export function migratePaymentAcceptance(
  database: TypeOrmDataSource | PaymentStorageOptions,
  options: MigrationOptions = {},
): Promise<void> {
  return withConnections(database, (source) => migrateTables(source, options));
}

export async function migrateTables(source: ConnectionSource, { schema }: MigrationOptions): Promise<void> {
  const database = await openForTool(source, schema);
  if ((await missing(database)).length === 0) return;
  database.connections.statementTimeoutMs = MIGRATION_STATEMENT_TIMEOUT_MS;
  const migrate = database instanceof MariaDatabase ? migrateMaria : migratePostgres;
  await migrate(database, (tx) => missing(database, tx));
}

/**
 * The migrations that {@link migratePaymentAcceptance} would run, in order. Changes nothing.
 * @throws as {@link migratePaymentAcceptance}
 * @internal
 */
export function pendingMigrations(
  database: TypeOrmDataSource | PaymentStorageOptions,
  { schema }: MigrationOptions = {},
): Promise<Pick<Migration, 'version' | 'name'>[]> {
  return withConnections(database, async (source) => {
    return (await missing(await openForTool(source, schema))).map(({ version, name }) => ({ version, name }));
  });
}

/** @throws PaymentSchemaBehindError if the tables are older than this release needs */
export async function verifySchema(database: Database): Promise<void> {
  const [first] = await missing(database);
  if (!first) return;
  const all = migrationsFor(database);
  const before = first === all[0] ? 0 : first.version - 1;
  throw new PaymentSchemaBehindError(before, Math.max(...all.map(({ version }) => version)));
}

/** In order; none if the tables are of a later release. */
async function missing(database: Database, tx?: OwnTransaction): Promise<readonly Migration[]> {
  const all = migrationsFor(database);
  const tables = database instanceof MariaDatabase ? mariaTables : postgresTables;
  if (!(await tables(database, tx))) return all;
  const rows = await (tx ?? database).rows<{ version: number }>({
    version: integer,
  })`SELECT version FROM payment_acceptance.migration`;
  const present = new Set(rows.map(({ version }) => version));
  return all.filter(({ version }) => !present.has(version));
}

function migrationsFor(database: Database): readonly Migration[] {
  return database instanceof MariaDatabase ? MARIA_MIGRATIONS : POSTGRES_MIGRATIONS;
}
