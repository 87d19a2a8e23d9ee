import { PaymentClock } from '../common/clock.js';
import type { ConnectionSource } from './connection-source.js';
import type { Database, DatabaseSettings } from './database.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { PostgresDatabase } from './postgres/postgres.database.js';
import { openStorage } from './pool-source.js';
import { LONG_STATEMENT_TIMEOUT_MS } from './statement-timeout.js';
import type { PaymentStorageOptions } from './storage-options.js';
import { openBeside, type TypeOrmDataSource } from './typeorm-source.js';

/** @throws PaymentUnsupportedDataSourceError if the database cannot guarantee what the module promises */
export async function openDatabase(
  source: ConnectionSource,
  clock: PaymentClock,
  settings: DatabaseSettings = {},
): Promise<Database> {
  const kind = source.type === 'postgres' ? PostgresDatabase : MariaDatabase;
  const database = new kind(source, clock, settings);
  database.connections.statementTimeoutMs = settings.statementTimeoutMs ?? Infinity;
  await database.verify();
  return database;
}

/** For work outside an application, where no payment waits for a statement. */
export function openForTool(source: ConnectionSource, schema: string | undefined): Promise<Database> {
  return openDatabase(source, new PaymentClock(), { schema, statementTimeoutMs: LONG_STATEMENT_TIMEOUT_MS });
}

/** For work outside an application: closes the connections afterwards. */
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
