import type { DataSource, EntityManager, EntitySubscriberInterface } from 'typeorm';
import type { Database } from './database.js';
import { refuseFailure } from './database.errors.js';
import { runOnConnection } from './mariadb/mysql-query.js';
import { onOwnConnections, type MysqlPool, type PgPool } from './own-connections.js';
import type { DriverTransactions } from './payment-transactions.js';
import { runOnClient } from './postgres/pg-query.js';

/** What TypeORM's drivers have but do not declare: the pool, on MySQL with replication a cluster of pools. */
interface Pools {
  readonly master?: PgPool;
  readonly pool?: MysqlPool;
  readonly poolCluster?: { of(name: 'MASTER'): MysqlPool };
}

const BOUND_PATTERN = /^(START TRANSACTION|SET TRANSACTION ISOLATION LEVEL .*|COMMIT|ROLLBACK)$/;

/** Subscriber hooks that may send statements while a transaction ends. */
const HOOKS = [
  'beforeQuery',
  'afterQuery',
  'beforeTransactionCommit',
  'afterTransactionCommit',
  'beforeTransactionRollback',
  'afterTransactionRollback',
] as const satisfies (keyof EntitySubscriberInterface)[];

/**
 * Transactions of TypeORM, each on a query runner of its own, which gets a client of the data source's pool.
 * @param level the isolation level to set, which costs a statement; none if it is READ COMMITTED already
 */
export function typeOrmTransactions(
  dataSource: DataSource,
  level: () => Promise<'READ COMMITTED' | undefined>,
  database?: Database,
): DriverTransactions<EntityManager> {
  const { master, pool, poolCluster } = dataSource.driver as unknown as Pools;
  const send = (client: object, text: string): Promise<unknown> =>
    master ? runOnClient(client, { text, values: [] }) : runOnConnection(client, text, []);
  return onOwnConnections<EntityManager>(
    (master ?? pool ?? poolCluster?.of('MASTER')) as PgPool | MysqlPool,
    async (client, work, whileEnding) => {
      const runner = dataSource.createQueryRunner();
      // A handler that releases the runner must not give the client back.
      Object.assign(runner, { databaseConnection: client, release: () => Promise.resolve() });
      const query = runner.query.bind(runner) as (text: string, ...args: unknown[]) => Promise<unknown>;
      let hasFailed = false;
      const observed = (sent: Promise<unknown>): Promise<unknown> =>
        sent.catch((error: unknown) => {
          hasFailed = true;
          throw error;
        });
      // The bounds are the module's own statements: the host's log and subscribers do not see them.
      runner.query = ((text: string, ...args: unknown[]) =>
        BOUND_PATTERN.test(text) ? send(client, text) : observed(query(text, ...args))) as typeof query &
        typeof runner.query;
      const isHooked = dataSource.subscribers.some((subscriber) => HOOKS.some((hook) => hook in subscriber));
      const end = (finish: () => Promise<void>): Promise<void> => (isHooked ? whileEnding(finish) : finish());
      try {
        await runner.startTransaction(await level());
        const result = await work(runner.manager);
        // PostgreSQL itself refuses what follows a failed statement, unless a savepoint has undone it.
        if (!master) refuseFailure(hasFailed);
        await end(() => runner.commitTransaction());
        return result;
      } catch (error) {
        // For the hooks: the connection is rolled back in any case.
        if (isHooked) await end(() => runner.rollbackTransaction()).catch(() => undefined);
        throw error;
      }
    },
    database,
  );
}
