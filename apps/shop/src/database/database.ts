import type { Socket } from 'node:net';
import type { TypeOrmModuleOptions } from '@nestjs/typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { OrderEvent } from '../orders/order.entity.js';
import { Order } from '../orders/order.entity.js';
import { CreateOrders1700000000000 } from './0001-create-orders.js';
import { kindOf, kindOfUrl } from './kind.js';
import { LimitedClient } from './limited-client.js';

/** The lock under which the shop's instances migrate one at a time. Its number is arbitrary. */
const MIGRATION_LOCK = {
  postgres: { take: 'SELECT pg_advisory_lock(1700000000)', give: 'SELECT pg_advisory_unlock(1700000000)' },
  mariadb: {
    take: `DO GET_LOCK(CONCAT('shop:', DATABASE()), 86400)`,
    give: `DO RELEASE_LOCK(CONCAT('shop:', DATABASE()))`,
  },
};

/** How long connecting may take: a server that vanished does not even refuse. */
const CONNECT_TIMEOUT_MS = 5_000;

/** How long a connection to MariaDB may be silent, in use or not. */
const SILENCE_TIMEOUT_MS = 10_000;

export function databaseOptions(): TypeOrmModuleOptions {
  const url = process.env.DATABASE_URL;
  if (!url) throw new Error('DATABASE_URL is not set. Start the shop with "npm run shop".');
  if (!URL.canParse(url)) throw new Error('DATABASE_URL is not an address: postgres://user:password@host/database.');
  return {
    // MariaDB's timestamps have no time zone: they are UTC, wherever the shop runs.
    ...(kindOfUrl(url) === 'mariadb'
      ? { type: 'mariadb', timezone: 'Z' }
      : { type: 'postgres', extra: { Client: LimitedClient, connectionTimeoutMillis: CONNECT_TIMEOUT_MS } }),
    url,
    entities: [Order, OrderEvent],
    migrations: [CreateOrders1700000000000],
    retryAttempts: 3,
    retryDelay: 500,
  };
}

/** Connects and brings the shop's own tables up to date. Several instances may start at once on one database. */
export async function openDatabase(options?: DataSourceOptions): Promise<DataSource> {
  if (!options) throw new Error('The data source has no options.');
  const dataSource = await new DataSource(options).initialize();
  try {
    await migrateWithLock(dataSource);
    if (kindOf(dataSource) === 'mariadb') limitConnections(dataSource);
    return dataSource;
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
}

interface MysqlConnection {
  readonly stream: Socket;
  release(): void;
}

interface MysqlPool {
  getConnection(done: (error: Error | null, connection: MysqlConnection) => void): void;
  on(event: 'connection', listener: (connection: MysqlConnection) => void): void;
}

/**
 * Stands in for `LimitedClient`, which is for PostgreSQL: closes a connection on which nothing has happened for some time, so that
 * statements to a server that has vanished do not fill the pool. Not while migrating, which may wait for a lock.
 */
function limitConnections(dataSource: DataSource): void {
  const { pool } = dataSource.driver as unknown as { readonly pool: MysqlPool };
  const limit = ({ stream }: MysqlConnection): void => {
    stream.setTimeout(SILENCE_TIMEOUT_MS, () => stream.destroy());
  };
  pool.on('connection', limit);
  // The one that has been opened already.
  pool.getConnection((error, connection) => {
    if (error) return;
    limit(connection);
    connection.release();
  });
}

async function migrateWithLock(dataSource: DataSource): Promise<void> {
  const lock = MIGRATION_LOCK[kindOf(dataSource)];
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query(lock.take);
    await dataSource.runMigrations();
  } finally {
    // A lost connection has released its lock already.
    await runner.query(lock.give).catch(() => undefined);
    await runner.release();
  }
}
