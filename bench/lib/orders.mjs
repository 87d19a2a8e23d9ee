import { TypeOrmModule } from '@nestjs/typeorm';
import { EntitySchema } from 'typeorm';

/**
 * @typedef {{ id: string; billId: string; status: string; paidAmount: string | null; paidAt: Date | null }} StoredOrder
 */

/**
 * Orders of a host, as everybody who is measured has them.
 * @param {string} tableName
 * @returns {EntitySchema<StoredOrder>}
 */
export const ordersIn = (tableName) =>
  new EntitySchema({
    name: 'Order',
    tableName,
    columns: {
      id: { type: 'text', primary: true },
      billId: { type: 'text', unique: true },
      status: { type: 'text' },
      paidAmount: { type: 'numeric', precision: 10, scale: 2, nullable: true },
      paidAt: { type: 'timestamptz', nullable: true },
    },
  });

/** Those whose payments are measured. */
export const Order = ordersIn('shop_order');

/**
 * The data source of a host without orders, on PostgreSQL or MariaDB.
 * @param {string} url
 */
export const eitherDatabase = (url) =>
  TypeOrmModule.forRoot({ type: url.startsWith('mysql:') ? 'mariadb' : 'postgres', url });

/**
 * The data source of a host that is measured with them.
 * @param {{ databaseUrl: string; poolSize?: number }} options
 */
export const databaseOf = ({ databaseUrl, poolSize = 20 }) =>
  TypeOrmModule.forRoot({ type: 'postgres', url: databaseUrl, entities: [Order], synchronize: true, poolSize });
