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

interface OpeningPool {
  readonly options: { readonly connectionTimeoutMillis?: number };
  Client: new (options: unknown) => ConnectingClient;
}

interface ConnectingClient {
  /** Timeout of connecting, in milliseconds; 0 for none. */
  _connectionTimeoutMillis?: number;
}

interface PgClients {
  on(event: 'acquire', listener: (client: { on(event: 'error', listener: () => void): void }) => void): void;
  on(event: 'error', listener: () => void): void;
}

const guardedPools = new WeakSet<PgClients>();

/**
 * Adds error listeners: without them, a session that the server ends while no statement is under way would end the
 * process, whether its connection is in use or idle.
 */
export function guardPgClients(pool: PgClients): void {
  if (guardedPools.has(pool)) return;
  guardedPools.add(pool);
  pool.on('error', () => undefined);
  const guarded = new WeakSet();
  pool.on('acquire', (client) => {
    if (!guarded.has(client)) client.on('error', () => undefined);
    guarded.add(client);
  });
}

/** The default of `mysql2`, in milliseconds. */
const OPENING_TIMEOUT_MS = 10_000;

/**
 * Unless the host sets a timeout, `pg` waits forever for a server that does not answer, and each wait takes a slot of
 * the pool. This limits only connecting; waiting for a free connection of the pool stays as it is.
 */
export function limitPgOpening(pool: OpeningPool, timeoutMs: () => number): void {
  if (pool.options.connectionTimeoutMillis) return;
  const { Client } = pool;
  pool.Client = class extends Client {
    override _connectionTimeoutMillis = Math.min(
      this._connectionTimeoutMillis || Infinity,
      OPENING_TIMEOUT_MS,
      timeoutMs(),
    );
  };
}

/** Connections in use, plus the callers waiting for one; 0 if the pool (such as a cluster) does not report it. */
export function occupiedConnections(pool: Partial<PgOccupancy & MysqlOccupancy> | undefined): number {
  if (pool?.totalCount !== undefined) return pool.totalCount - (pool.idleCount ?? 0) + (pool.waitingCount ?? 0);
  if (!pool?._allConnections) return 0;
  return pool._allConnections.length - (pool._freeConnections?.length ?? 0) + (pool._connectionQueue?.length ?? 0);
}
