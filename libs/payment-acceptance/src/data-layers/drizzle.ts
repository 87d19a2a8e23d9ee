import type { PaymentTransactions } from '../database/payment-transactions.js';
import { onOwnConnections, type MysqlPool, type PgPool } from '../database/own-connections.js';
import { onPostgresJs, type PostgresJs, type PostgresJsOptions } from './postgres-js.js';

export type { PgOccupancy } from '../database/pool.js';
export type { MysqlPool, PgPool } from '../database/own-connections.js';
export type { PostgresJs, PostgresJsOptions, PostgresJsQuery } from './postgres-js.js';

/** The part of a Drizzle database that is used. */
export interface DrizzleDatabase<Tx> {
  transaction<T>(work: (tx: Tx) => Promise<T>, config?: { isolationLevel: 'read committed' }): Promise<T>;
}

/**
 * Transactions of Drizzle on `pg` or `mysql2`: handlers get its transaction.
 * @param pool the pool beneath the host's Drizzle database
 * @param make creates such a database on a single client, which Drizzle accepts in place of a pool:
 *   `(client) => drizzle(client, { schema })`. This keeps statements that a handler did not await from committing on
 *   their own
 */
export function drizzleTransactions<Pool extends PgPool | MysqlPool, Tx extends object>(
  pool: Pool,
  make: (client: Pool) => DrizzleDatabase<Tx>,
): PaymentTransactions<Tx>;
/**
 * Transactions of Drizzle on postgres.js: handlers get its transaction, on connections of their own, opened when needed
 * and closed when idle.
 * @param open creates a client of the host's database: `(options) => postgres(url, { ...yours, ...options })`
 * @param make creates a Drizzle database on it: `(sql) => drizzle(sql, { schema })`
 * @param options.connections maximum connections. At most half of them run handlers at a time. Default 10
 */
export function drizzleTransactions<Sql extends PostgresJs, Tx extends object>(
  open: (options: PostgresJsOptions) => Sql,
  make: (sql: Sql) => DrizzleDatabase<Tx>,
  options?: { readonly connections?: number },
): PaymentTransactions<Tx>;
export function drizzleTransactions<Tx extends object>(
  source: PgPool | MysqlPool | ((options: PostgresJsOptions) => PostgresJs),
  make: (client: never) => DrizzleDatabase<Tx>,
  { connections }: { readonly connections?: number } = {},
): PaymentTransactions<Tx> {
  if (typeof source === 'function') {
    return onPostgresJs(source, (client, work) => make(client as never).transaction(work), connections);
  }
  return onOwnConnections(source, (client, work) =>
    make(client as never).transaction(work, { isolationLevel: 'read committed' }),
  );
}
