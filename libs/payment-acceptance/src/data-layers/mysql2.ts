import type { PaymentTransactions } from '../database/payment-transactions.js';
import { onOwnConnections, type MysqlPool } from '../database/own-connections.js';

export type { MysqlPool } from '../database/own-connections.js';

interface Queries {
  query(sql: string): Promise<unknown>;
}

/**
 * Transactions of plain `mysql2`: handlers get a connection of the pool that answers with promises, as
 * `PaymentEventContext<PoolConnection>` of `mysql2/promise`.
 * @param pool a pool of `mysql2/promise`, of the database with the module's tables
 */
export function mysql2Transactions<Connection extends object>(
  pool: MysqlPool & { getConnection(): Promise<Connection> },
): PaymentTransactions<Connection> {
  return onOwnConnections(pool, async (client, work) => {
    const connection = (client as unknown as { promise(): Connection & Queries }).promise();
    await connection.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED');
    await connection.query('START TRANSACTION');
    const result = await work(connection);
    await connection.query('COMMIT');
    return result;
  });
}
