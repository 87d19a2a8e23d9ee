import type { DataSource } from 'typeorm';
import type { PaymentClock } from '../common/clock.js';
import type { ConnectionSource } from './connection-source.js';
import type { Database, DatabaseSettings } from './database.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { PostgresDatabase } from './postgres/postgres.database.js';
import { TypeOrmSource } from './typeorm-source.js';

/**
 * Opens a database for our statements.
 * @param given the host's data source, or another source of connections
 * @throws PaymentUnsupportedDataSourceError if it cannot guarantee what the module promises
 */
export async function openDatabase(
  given: DataSource | ConnectionSource,
  clock: PaymentClock,
  settings: DatabaseSettings & { readonly logStatements?: boolean | undefined } = {},
): Promise<Database> {
  const source = 'driver' in given ? new TypeOrmSource(given, settings) : given;
  const kind = source.type === 'postgres' ? PostgresDatabase : MariaDatabase;
  const database = new kind(source, clock, settings);
  await database.verify();
  return database;
}
