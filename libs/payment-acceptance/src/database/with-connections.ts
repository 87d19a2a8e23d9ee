import type { ConnectionSource } from './connection-source.js';
import { openStorage } from './pool-source.js';
import type { PaymentStorageOptions } from './storage-options.js';
import { openBeside, type TypeOrmDataSource } from './typeorm-source.js';

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
