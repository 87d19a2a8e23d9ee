import type { DataSource } from 'typeorm';
import { ON_MARIADB } from './database.js';
import { until } from './until.js';

export interface HeldUp {
  /** Resolves when this many statements are blocked inside their transactions. */
  reached(count?: number): Promise<unknown>;
  /** Releases them, and blocks no more. */
  letGo(): Promise<void>;
}

/** Blocks inserts into a table of the module; on MariaDB also updates. */
export async function holdUp(dataSource: DataSource, table: string): Promise<HeldUp> {
  if (ON_MARIADB) return holdUpOnMariaDb(dataSource, table);
  const holder = dataSource.createQueryRunner();
  await holder.query('SELECT pg_advisory_lock(1)');
  await dataSource.query(
    `CREATE FUNCTION hold_up() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
     CREATE TRIGGER hold_up BEFORE INSERT ON payment_acceptance.${table} FOR EACH ROW EXECUTE FUNCTION hold_up()`,
  );
  return {
    reached: (count = 1) =>
      until(
        () =>
          dataSource.query<unknown[]>(
            `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
          ),
        (waiting) => waiting.length === count,
      ),
    async letGo() {
      await holder.query('SELECT pg_advisory_unlock(1)');
      await holder.release();
      await dataSource.query('DROP FUNCTION hold_up CASCADE');
    },
  };
}

async function holdUpOnMariaDb(dataSource: DataSource, table: string): Promise<HeldUp> {
  const holder = dataSource.createQueryRunner();
  await holder.query(`LOCK TABLES payment_acceptance.${table} READ`);
  return {
    reached: (count = 1) =>
      until(
        () =>
          dataSource.query<unknown[]>(
            `SELECT id FROM information_schema.processlist WHERE db = current_database() AND state LIKE 'Waiting for table%lock'`,
          ),
        (waiting) => waiting.length === count,
      ),
    async letGo() {
      await holder.query('UNLOCK TABLES');
      await holder.release();
    },
  };
}
