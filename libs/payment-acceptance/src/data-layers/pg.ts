import type { PaymentTransactions } from '../database/payment-transactions.js';
import { onOwnConnections, type PgClient, type PgPool } from '../database/own-connections.js';

export type { PgOccupancy } from '../database/pool.js';
export type { PgClient, PgPool } from '../database/own-connections.js';

/**
 * Transactions of plain `pg`: handlers get a client of the pool, as `PaymentEventContext<PoolClient>`.
 * @param pool a `pg.Pool` of the database with the module's tables
 */
export function pgTransactions(pool: PgPool): PaymentTransactions<PgClient> {
  return onOwnConnections<PgClient>(pool, async (client, work) => {
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  });
}
