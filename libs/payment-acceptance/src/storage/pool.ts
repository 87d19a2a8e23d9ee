import type { DataSource } from 'typeorm';

/** What `pg` and `mysql2` open when the host's data source says nothing. */
const DEFAULT_POOL_SIZE = 10;

/** The part of a pool of `pg` that tells how busy it is. */
interface PgPool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

/** The same of `mysql2` and `mysql`. */
interface MysqlPool {
  readonly _allConnections: { readonly length: number };
  readonly _freeConnections: { readonly length: number };
  readonly _connectionQueue: { readonly length: number };
}

/** How many connections the data source opens at most. */
export function poolSizeOf(dataSource: DataSource): number {
  const { poolSize, extra } = dataSource.options as {
    poolSize?: number;
    extra?: { max?: number; connectionLimit?: number };
  };
  return extra?.max ?? extra?.connectionLimit ?? poolSize ?? DEFAULT_POOL_SIZE;
}

/**
 * How many connections nobody has or waits for, less than none where many wait. All of them where the driver's pool does not
 * tell, as a cluster of pools.
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
