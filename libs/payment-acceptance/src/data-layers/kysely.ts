import type { PaymentTransactions } from '../database/payment-transactions.js';
import { onOwnConnections, type MysqlPool, type PgPool } from '../database/own-connections.js';

export type { PgOccupancy } from '../database/pool.js';
export type { MysqlPool, PgPool } from '../database/own-connections.js';

/** The part of a Kysely instance that is used. */
export interface KyselyInstance<Tx> {
  transaction(): {
    setIsolationLevel(level: 'read committed'): { execute<T>(work: (tx: Tx) => Promise<T>): Promise<T> };
  };
}

/**
 * Transactions of Kysely on `pg` or `mysql2`: handlers get its `Transaction`.
 * @param pool the pool beneath the host's Kysely instance
 * @param make creates such an instance on a pool with a single connection:
 *   `(pool) => new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) })`. This keeps statements that a handler did
 *   not await from committing on their own
 */
export function kyselyTransactions<Pool extends PgPool | MysqlPool, Tx extends object>(
  pool: Pool,
  make: (pool: Pool) => KyselyInstance<Tx>,
): PaymentTransactions<Tx> {
  return onOwnConnections(pool, (client, work) => {
    const single = {
      connect: () => Promise.resolve(client),
      getConnection: (done: (error: null, connection: object) => void) => done(null, client),
    };
    return make(single as unknown as Pool)
      .transaction()
      .setIsolationLevel('read committed')
      .execute(work);
  });
}
