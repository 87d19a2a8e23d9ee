import type { PaymentClock } from '../common/clock.js';
import type { ConnectionSource } from './connection-source.js';
import type { Database, DatabaseSettings } from './database.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { PostgresDatabase } from './postgres/postgres.database.js';
import { openStorage } from './pool-source.js';
import type { PaymentStorageOptions } from './storage-options.js';
import { openBeside, type TypeOrmDataSource } from './typeorm-source.js';

/**
 * Opens a database for our statements.
 * @throws PaymentUnsupportedDataSourceError if it cannot guarantee what the module promises
 */
export async function openDatabase(
  source: ConnectionSource,
  clock: PaymentClock,
  settings: DatabaseSettings = {},
): Promise<Database> {
  const kind = source.type === 'postgres' ? PostgresDatabase : MariaDatabase;
  const database = new kind(source, clock, settings);
  database.statementTimeoutMs = settings.statementTimeoutMs ?? Infinity;
  await database.verify();
  return database;
}

/** Runs work outside of an application, on connections that are closed afterwards. */
export async function withConnections<T>(
  database: TypeOrmDataSource | PaymentStorageOptions,
  work: (source: ConnectionSource) => Promise<T>,
): Promise<T> {
  const source = 'driver' in database ? openBeside(database) : await openStorage(database);
  try {
    return await work(source);
  } finally {
    await source.close();
  }
}
