import type { DataSource } from 'typeorm';

/** The default of both `pg` and `mysql2`. */
const DEFAULT_POOL_SIZE = 10;

/** The parts of a `pg` pool that show how busy it is. */
interface PgPool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

/** The same for `mysql2` and `mysql`. */
interface MysqlPool {
  readonly _allConnections: { readonly length: number };
  readonly _freeConnections: { readonly length: number };
  readonly _connectionQueue: { readonly length: number };
}

/** The maximum number of connections of the data source. */
export function poolSizeOf(dataSource: DataSource): number {
  const { poolSize, extra } = dataSource.options as {
    poolSize?: number;
    extra?: { max?: number; connectionLimit?: number };
  };
  return extra?.max ?? extra?.connectionLimit ?? poolSize ?? DEFAULT_POOL_SIZE;
}

/**
 * How many connections are free: not in use and not waited for; negative if many callers wait. The whole pool if the driver
 * does not say, as with a cluster of pools.
 */
export function freeConnectionsOf(dataSource: DataSource): number {
  const { master, pool } = dataSource.driver as { master?: Partial<PgPool>; pool?: Partial<MysqlPool> };
  const size = poolSizeOf(dataSource);
  if (master?.totalCount !== undefined) {
    const { totalCount, idleCount = 0, waitingCount = 0 } = master;
    return size - (totalCount - idleCount) - waitingCount;
  }
  if (pool?._allConnections) {
    const { _allConnections: all, _freeConnections: free, _connectionQueue: waiting } = pool;
    return size - (all.length - (free?.length ?? 0)) - (waiting?.length ?? 0);
  }
  return size;
}
