import type { Database } from '../database.js';
import type { Migration } from '../migration.js';
import type { OwnTransaction } from '../own-transaction.js';
import { flag } from '../reading.js';
import { MIGRATION_LOCK_SECONDS } from '../statement-timeout.js';
import { rawSql } from '../statement.js';
import { initial } from './migrations/0001-initial.js';

export const POSTGRES_MIGRATIONS: readonly Migration[] = [initial];

/** An arbitrary constant: instances that start together take turns. */
const ADVISORY_LOCK = 7_320_114_905;

export function postgresTables(database: Database, tx?: OwnTransaction): Promise<boolean> {
  return exists(database, "to_regclass('payment_acceptance.migration')", tx);
}

/** Runs each migration in its own transaction, so that no transaction locks the tables of two migrations. */
export async function migratePostgres(
  database: Database,
  missing: (tx: OwnTransaction) => Promise<readonly Migration[]>,
): Promise<void> {
  await withMigrationLock(database, (tx) => makeSchema(database, tx));
  const next = (tx: OwnTransaction): Promise<boolean> => migrateNext(tx, missing);
  while (await withMigrationLock(database, next));
}

function withMigrationLock<T>(database: Database, work: (tx: OwnTransaction) => Promise<T>): Promise<T> {
  return database.transaction(async (tx) => {
    await tx.rows({})`SELECT pg_advisory_xact_lock(${ADVISORY_LOCK}::bigint)`;
    await tx.change`SET LOCAL lock_timeout = ${rawSql(`'${MIGRATION_LOCK_SECONDS}s'`)}`;
    return work(tx);
  });
}

/** Needs no right to create the schema if an administrator has already created it. */
async function makeSchema(database: Database, tx: OwnTransaction): Promise<void> {
  const schema = rawSql(database.schema);
  if (!(await exists(database, `to_regnamespace('${database.schema}')`, tx))) {
    await tx.change`CREATE SCHEMA ${schema}`;
  }
  await tx.change`CREATE TABLE IF NOT EXISTS payment_acceptance.migration (
    version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`;
}

async function migrateNext(
  tx: OwnTransaction,
  missing: (tx: OwnTransaction) => Promise<readonly Migration[]>,
): Promise<boolean> {
  const [migration] = await missing(tx);
  if (!migration) return false;
  for (const statement of migration.statements) await tx.change`${rawSql(statement)}`;
  await tx.change`
    INSERT INTO payment_acceptance.migration (version, name) VALUES (${migration.version}, ${migration.name})`;
  return true;
}

async function exists(database: Database, expression: string, tx?: OwnTransaction): Promise<boolean> {
  const [row] = await (tx ?? database).rows<{ found: boolean }>({
    found: flag,
  })`SELECT ${rawSql(expression)} IS NOT NULL AS found`;
  return row?.found === true;
}
