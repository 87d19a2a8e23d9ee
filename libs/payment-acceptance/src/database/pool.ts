/** The default of both `pg` and `mysql2`. */
export const DEFAULT_POOL_SIZE = 10;

/** The parts of a `pg` pool that show how busy it is. */
export interface PgOccupancy {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

/** The same for `mysql2` and `mysql`. */
export interface MysqlOccupancy {
  readonly _allConnections: { readonly length: number };
  readonly _freeConnections: { readonly length: number };
  readonly _connectionQueue: { readonly length: number };
}

/** Connections in use, plus the callers waiting for one; 0 if the pool (such as a cluster) does not report it. */
export function occupiedConnections(pool: Partial<PgOccupancy & MysqlOccupancy> | undefined): number {
  if (pool?.totalCount !== undefined) return pool.totalCount - (pool.idleCount ?? 0) + (pool.waitingCount ?? 0);
  if (!pool?._allConnections) return 0;
  return pool._allConnections.length - (pool._freeConnections?.length ?? 0) + (pool._connectionQueue?.length ?? 0);
}
