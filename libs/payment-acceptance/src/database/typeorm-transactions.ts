import type { DataSource, EntityManager, EntitySubscriberInterface } from 'typeorm';
import type { Database } from './database.js';
import { refuseFailure, workContinued } from './database.errors.js';
import { runOnConnection } from './mariadb/mysql-query.js';
import { onOwnConnections, type MysqlPool, type PgPool } from './own-connections.js';
import type { DriverTransactions } from './payment-transactions.js';
import { DEFAULT_POOL_SIZE, occupiedConnections, type MysqlOccupancy } from './pool.js';
import { runOnClient } from './postgres/pg-query.js';
import { isReadOnly } from './query-errors.js';

/** What TypeORM's drivers have but do not declare: the pool, on MySQL with replication a cluster of pools. */
interface Pools {
  readonly master?: PgPool;
  readonly pool?: CountedPool;
  readonly poolCluster?: { of(name: 'MASTER'): CountedPool };
}
type CountedPool = MysqlPool & Partial<MysqlOccupancy>;

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

type Level = () => Promise<'READ COMMITTED' | undefined>;

/**
 * Transactions of TypeORM, each on a query runner of its own, which gets a client of the data source's pool. A data source
 * that is destroyed and initialized again has another pool.
 * @param level the isolation level to set, which costs a statement; none if it is READ COMMITTED already
 */
export function typeOrmTransactions(
  dataSource: DataSource,
  level: Level,
  database?: Database,
): DriverTransactions<EntityManager> {
  const layers = new WeakMap<object, DriverTransactions<EntityManager>>();
  const layerNow = (): DriverTransactions<EntityManager> => {
    const pool = poolOf(dataSource);
    const layer = layers.get(pool) ?? onOwnConnections(pool, beginOn(dataSource, level), database);
    layers.set(pool, layer);
    return layer;
  };
  const { placeholders } = layerNow();
  const size = poolSizeOf(dataSource);
  return {
    placeholders,
    pool: { size, free: () => size - occupiedConnections(poolOf(dataSource)) },
    run: (work, limits) => layerNow().run(work, limits),
    query: (manager, text, values, gives) => layerNow().query(manager, text, values, gives),
    connectionOf: (manager) => layerNow().connectionOf(manager),
    close: (manager) => layerNow().close(manager),
  };
}

function poolOf({ driver }: DataSource): PgPool | CountedPool {
  const { master, pool, poolCluster } = driver as unknown as Pools;
  return (master ?? pool ?? poolCluster?.of('MASTER')) as PgPool | CountedPool;
}

/** In its options: a cluster of pools does not tell. */
function poolSizeOf({ options }: DataSource): number {
  const { poolSize, extra } = options as { poolSize?: number; extra?: { max?: number; connectionLimit?: number } };
  return extra?.max ?? extra?.connectionLimit ?? poolSize ?? DEFAULT_POOL_SIZE;
}

function beginOn(dataSource: DataSource, level: Level): Parameters<typeof onOwnConnections<EntityManager>>[1] {
  return async (client, work, whileEnding) => {
    const isPg = dataSource.options.type === 'postgres';
    const send = (text: string): Promise<unknown> =>
      isPg ? runOnClient(client, { text, values: [] }) : runOnConnection(client, text, []);
    const runner = dataSource.createQueryRunner();
    // A handler that releases the runner must not give the client back.
    Object.assign(runner, { databaseConnection: client, release: () => Promise.resolve() });
    const query = runner.query.bind(runner) as (text: string, ...args: unknown[]) => Promise<unknown>;
    const failures: unknown[] = [];
    const observed = (sent: Promise<unknown>): Promise<unknown> =>
      sent.catch((error: unknown) => {
        failures.push(error);
        throw error;
      });
    // The bounds are the module's own statements: the host's log and subscribers do not see them.
    runner.query = ((text: string, ...args: unknown[]) =>
      BOUND_PATTERN.test(text) ? send(text) : observed(query(text, ...args))) as typeof query & typeof runner.query;
    const isHooked = dataSource.subscribers.some((subscriber) => HOOKS.some((hook) => hook in subscriber));
    const end = (finish: () => Promise<void>): Promise<void> => (isHooked ? whileEnding(finish) : finish());
    try {
      await runner.startTransaction(await level());
      const result = await work(runner.manager);
      // PostgreSQL itself refuses what follows a failed statement, unless a savepoint has undone it.
      if (!isPg) refuseFailure(failures.length > 0);
      // TypeORM would end the nested transaction alone.
      if ((runner as unknown as { readonly transactionDepth: number }).transactionDepth > 1) throw workContinued();
      await end(() => runner.commitTransaction());
      return result;
    } catch (error) {
      // For the hooks: the connection is rolled back in any case.
      if (isHooked) await end(() => runner.rollbackTransaction()).catch(() => undefined);
      // Which the handler may have put into an error of its own: the connection leads to the wrong server.
      throw failures.find(isReadOnly) ?? error;
    }
  };
}
