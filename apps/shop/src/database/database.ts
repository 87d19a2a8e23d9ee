import type { TypeOrmModuleOptions } from '@nestjs/typeorm';
import { DataSource, type DataSourceOptions } from 'typeorm';
import { OrderEvent } from '../orders/order-event.entity.js';
import { Order } from '../orders/order.entity.js';
import { CreateOrders1700000000000 } from './0001-create-orders.js';

/** Any constant of this application. */
const MIGRATION_LOCK = 1_700_000_000;

export function databaseOptions(): TypeOrmModuleOptions {
  if (!process.env.DATABASE_URL) throw new Error('DATABASE_URL is not set. Start the shop with "npm run shop".');
  return {
    type: 'postgres',
    url: process.env.DATABASE_URL,
    entities: [Order, OrderEvent],
    migrations: [CreateOrders1700000000000],
    retryAttempts: 3,
    retryDelay: 500,
  };
}

/** Connects and brings the shop's own tables up to date. Several shops may start at once on one database. */
export async function openDatabase(options?: DataSourceOptions): Promise<DataSource> {
  if (!options) throw new Error('The data source has no options.');
  const dataSource = await new DataSource(options).initialize();
  try {
    await migrateInTurn(dataSource);
    return dataSource;
  } catch (error) {
    await dataSource.destroy();
    throw error;
  }
}

async function migrateInTurn(dataSource: DataSource): Promise<void> {
  const runner = dataSource.createQueryRunner();
  try {
    await runner.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    await dataSource.runMigrations();
  } finally {
    // A connection that is gone has lost its lock as well.
    await runner.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]).catch(() => undefined);
    await runner.release();
  }
}
