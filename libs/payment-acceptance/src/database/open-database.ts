import type { DataSource } from 'typeorm';
import type { PaymentClock } from '../common/clock.js';
import type { Database, DatabaseSettings } from './database.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { PostgresDatabase } from './postgres/postgres.database.js';
import { PaymentUnsupportedDataSourceError } from './database.errors.js';

/**
 * Opens the host's data source for our statements.
 * @throws PaymentUnsupportedDataSourceError if it cannot guarantee what the module promises
 */
export async function openDatabase(
  dataSource: DataSource,
  clock: PaymentClock,
  settings?: DatabaseSettings,
): Promise<Database> {
  const { type } = dataSource.options;
  const kind =
    type === 'postgres' ? PostgresDatabase : type === 'mariadb' || type === 'mysql' ? MariaDatabase : undefined;
  if (!kind) throw new PaymentUnsupportedDataSourceError(type);
  const database = new kind(dataSource, clock, settings);
  await database.verify();
  return database;
}
