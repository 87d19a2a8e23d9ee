import type { EntityManager } from 'typeorm';
import type { Migration } from '../migration.js';
import type { MariaDatabase } from './maria.database.js';
import { mariaSchema } from './schema.js';

export const MARIA_MIGRATIONS: readonly Migration[] = [mariaSchema];

/** Instances that start together on one database take turns; the server frees it when the connection ends. */
const LOCK = `CONCAT('payment_acceptance:', MD5(DATABASE()))`;
const LOCK_SECONDS = 120;

/**
 * Runs what is missing on one connection that holds the lock. MariaDB commits each statement that changes tables, so
 * each may be repeated, and a migration counts when its last one has run.
 */
export async function migrateMaria(
  database: MariaDatabase,
  missing: (manager: EntityManager) => Promise<readonly Migration[]>,
): Promise<void> {
  const runner = database.dataSource.createQueryRunner();
  const { manager } = runner;
  try {
    const [lock] = await database.query<{ got: unknown }>(
      `SELECT GET_LOCK(${LOCK}, ${LOCK_SECONDS}) AS got`,
      [],
      manager,
    );
    if (Number(lock?.got) !== 1) {
      throw new Error(
        'Another process has been migrating the tables of PaymentAcceptanceModule for two minutes. Look what holds it up, and start again.',
      );
    }
    try {
      await database.query(
        `CREATE TABLE IF NOT EXISTS payment_acceptance.migration (
           version INT PRIMARY KEY, name VARCHAR(255) NOT NULL, applied_at DATETIME(6) NOT NULL) ENGINE=InnoDB`,
        [],
        manager,
      );
      for (const { version, name, statements } of await missing(manager)) {
        for (const statement of statements) await database.query(statement, [], manager);
        await database.query(
          `INSERT INTO payment_acceptance.migration (version, name, applied_at) VALUES ($1, $2, now())`,
          [version, name],
          manager,
        );
      }
    } finally {
      await database.query(`DO RELEASE_LOCK(${LOCK})`, [], manager);
    }
  } finally {
    await runner.release();
  }
}
