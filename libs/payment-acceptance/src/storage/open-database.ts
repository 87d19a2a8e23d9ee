import type { DataSource } from 'typeorm';
import type { PaymentClock } from '../common/clock.js';
import type { PaymentProbe } from '../common/probe.js';
import { Database } from './database.js';
import { MariaDatabase } from './mariadb/maria.database.js';
import { UnsupportedDataSourceError } from './storage.errors.js';

/**
 * The host's data source, as our statements use it.
 * @throws UnsupportedDataSourceError where it cannot keep the module's promise.
 */
export async function openDatabase(
  dataSource: DataSource,
  clock: PaymentClock,
  probe?: PaymentProbe,
): Promise<Database> {
  const { type } = dataSource.options;
  if (type === 'postgres') return new Database(dataSource, clock, probe);
  if (type !== 'mariadb' && type !== 'mysql') throw new UnsupportedDataSourceError(type);
  const database = new MariaDatabase(dataSource, clock, probe);
  await database.verify();
  return database;
}
