import type { Database } from '../database.js';
import type { Migration } from '../migration.js';
import type { OwnTransaction } from '../own-transaction.js';
import { flag } from '../reading.js';
import { MIGRATION_LOCK_SECONDS } from '../statement-timeout.js';
import { rawSql } from '../statement.js';
import { initial } from './migrations/0001-initial.js';

export const MARIA_MIGRATIONS: readonly Migration[] = [initial];

const LOCK_SECONDS = 120;

/** Instances that start together on one database take turns. The server releases the lock when the connection ends. */
const MIGRATION_LOCK = rawSql(`CONCAT('payment_acceptance:', MD5(DATABASE()))`);

export async function mariaTables(database: Database, tx?: OwnTransaction): Promise<boolean> {
  const [row] = await (tx ?? database).rows<{ found: boolean }>({ found: flag })`
    SELECT EXISTS (SELECT 1 FROM information_schema.tables
    WHERE table_schema = DATABASE() AND table_name = ${`${database.schema}_migration`}) AS found`;
  return row?.found === true;
}

/**
 * Runs the missing migrations on one connection, which holds the lock. MariaDB commits each DDL statement on its own,
 * so all of them can be repeated, and a migration is recorded only after its last statement has run.
 */
export async function migrateMaria(
  database: Database,
  missing: (tx: OwnTransaction) => Promise<readonly Migration[]>,
): Promise<void> {
  await database.holding(async (tx) => {
    const [turn] = await tx.rows<{ mine: boolean }>({ mine: flag })`
      SELECT GET_LOCK(${MIGRATION_LOCK}, ${LOCK_SECONDS}) AS mine`;
    if (!turn?.mine) {
      throw new Error(
        'Another process has been migrating the tables of PaymentAcceptanceModule for two minutes. Find out what is blocking it, then restart.',
      );
    }
    try {
      await tx.change`
        SET @payment_acceptance_lock_wait = @@SESSION.lock_wait_timeout, SESSION lock_wait_timeout = ${rawSql(String(MIGRATION_LOCK_SECONDS))}`;
      await tx.change`CREATE TABLE IF NOT EXISTS payment_acceptance.migration (
        version INT PRIMARY KEY, name VARCHAR(255) NOT NULL, applied_at DATETIME(6) NOT NULL) ENGINE=InnoDB`;
      for (const { version, name, statements } of await missing(tx)) {
        for (const statement of statements) await tx.change`${rawSql(statement)}`;
        await tx.change`INSERT INTO payment_acceptance.migration (version, name, applied_at)
          VALUES (${version}, ${name}, UTC_TIMESTAMP(6))`;
      }
    } finally {
      // Both end with a connection that is lost, and then the first error counts.
      await tx.change`SET SESSION lock_wait_timeout = @payment_acceptance_lock_wait`.catch(() => undefined);
      await tx.change`DO RELEASE_LOCK(${MIGRATION_LOCK})`.catch(() => undefined);
    }
  });
}
