import type { PaymentTransactions } from '../database/payment-transactions.js';
import { onOwnConnections, type MysqlPool, type PgPool } from './own-connections.js';

export type { PgOccupancy } from '../database/pool.js';
export type { MysqlPool, PgPool } from './own-connections.js';

/** The part of a Drizzle database that is used. */
export interface DrizzleDatabase<Tx> {
  transaction<T>(work: (tx: Tx) => Promise<T>, config: { isolationLevel: 'read committed' }): Promise<T>;
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
): PaymentTransactions<Tx> {
  return onOwnConnections(pool, (client, work) =>
    make(client as unknown as Pool).transaction(work, { isolationLevel: 'read committed' }),
  );
}
