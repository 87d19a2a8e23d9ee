import { conceal } from '../common/secret.js';
import type { Connection, ConnectionSource, PgDriver } from './connection-source.js';
import type { PaymentStorageOptions } from './storage-options.js';
import { PaymentUnsupportedDataSourceError } from './database.errors.js';
import { DEFAULT_POOL_SIZE, occupiedConnections, type MysqlOccupancy, type PgOccupancy } from './pool.js';

/** How long a connection that the module has opened may be unused before it is closed, in milliseconds. */
const IDLE_MS = 10_000;

/** Default of `storage.connections`. */
export const DEFAULT_CONNECTIONS = 4;

/** Removes the limits that the host has set: the module's statements have their own. */
const NO_LIMITS = {
  statement_timeout: undefined,
  query_timeout: undefined,
  lock_timeout: undefined,
  idle_in_transaction_session_timeout: undefined,
};

/** Limits in an address, which the driver prefers to its options. */
const LIMIT_PARAMETER_PATTERN = new RegExp(`(?<=[?&])(?:${Object.keys(NO_LIMITS).join('|')})=[^&]*&?`, 'g');

export type PgPoolClass = new (options: object) => PgPool;

export interface MysqlPoolFactory {
  createPool(options: object): MysqlPool;
}

interface PgPool extends PgOccupancy {
  readonly options: { readonly max?: number; readonly connectionTimeoutMillis?: number };
  /** Its timeout of connecting, in milliseconds, is 0 for none. */
  Client: new (options: unknown) => { _connectionTimeoutMillis?: number };
  connect(): Promise<PgConnection>;
  readonly ended: boolean;
  end(): Promise<void>;
  on(event: 'connect' | 'acquire', listener: (client: PgConnection) => void): void;
  on(event: 'error', listener: () => void): void;
}

interface PgConnection {
  release(error?: Error): void;
  on(event: 'error', listener: () => void): void;
}

interface MysqlPool extends MysqlOccupancy {
  readonly config?: { readonly connectionLimit?: number; readonly connectionConfig: { password?: unknown } };
  getConnection(done: (error: Error | null, connection: MysqlConnection) => void): void;
  readonly _closed: boolean;
  end(done: () => void): void;
  on(event: 'connection', listener: (connection: Connection) => void): void;
}

interface MysqlConnection {
  release(): void;
  destroy(): void;
}

const guardedPools = new WeakSet<PgPool>();

/** The default of `mysql2`, in milliseconds. */
const OPENING_TIMEOUT_MS = 10_000;

class PgPoolSource implements ConnectionSource {
  readonly type = 'postgres';
  readonly size: number;

  constructor(
    private readonly pool: PgPool,
    private readonly isOurs: boolean,
  ) {
    this.size = pool.options.max ?? DEFAULT_POOL_SIZE;
    this.guardClients();
  }

  /**
   * Adds error listeners: without them, a session that the server ends while no statement is under way would end the
   * process, whether its connection is in use or idle.
   */
  private guardClients(): void {
    if (guardedPools.has(this.pool)) return;
    guardedPools.add(this.pool);
    this.pool.on('error', () => undefined);
    const guarded = new WeakSet();
    this.pool.on('acquire', (client) => {
      if (!guarded.has(client)) client.on('error', () => undefined);
      guarded.add(client);
    });
  }

  get pg(): PgDriver {
    return { Client: this.pool.Client, options: this.pool.options };
  }

  free(): number {
    return this.size - occupiedConnections(this.pool);
  }

  connect(): Promise<Connection> {
    return this.pool.connect();
  }

  release(connection: Connection, isBroken: boolean): void {
    const error = isBroken ? new Error('The connection must not be used again.') : undefined;
    (connection as PgConnection).release(error);
  }

  onOpened(listener: (connection: Connection) => void): void {
    this.pool.on('connect', listener);
  }

  /**
   * Unless the host sets a timeout, `pg` waits forever for a server that does not answer, and each wait takes a slot of
   * the pool. This limits only connecting; waiting for a free connection of the pool stays as it is.
   */
  limitOpening(timeoutMs: () => number): void {
    if (this.pool.options.connectionTimeoutMillis) return;
    const { Client } = this.pool;
    this.pool.Client = class extends Client {
      override _connectionTimeoutMillis = Math.min(
        this._connectionTimeoutMillis || Infinity,
        OPENING_TIMEOUT_MS,
        timeoutMs(),
      );
    };
  }

  async close(): Promise<void> {
    if (this.isOurs && !this.pool.ended) await this.pool.end();
  }
}

class MysqlPoolSource implements ConnectionSource {
  readonly type = 'mariadb';
  readonly size = this.pool.config?.connectionLimit ?? DEFAULT_POOL_SIZE;

  constructor(
    private readonly pool: MysqlPool,
    private readonly isOurs: boolean,
  ) {}

  free(): number {
    return this.size - occupiedConnections(this.pool);
  }

  connect(): Promise<Connection> {
    return new Promise((resolve, reject) =>
      this.pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection))),
    );
  }

  release(connection: Connection, isBroken: boolean): void {
    const mysqlConnection = connection as MysqlConnection;
    if (isBroken) mysqlConnection.destroy();
    else mysqlConnection.release();
  }

  onOpened(listener: (connection: Connection) => void): void {
    this.pool.on('connection', listener);
  }

  /** Nothing to do: its driver has a limit of its own. */
  limitOpening(): void {}

  async close(): Promise<void> {
    if (this.isOurs && !this.pool._closed) await new Promise<void>((resolve) => this.pool.end(() => resolve()));
  }
}

/** One of the host's pools. Only a pool of `pg` has `connect`; a pool of `mysql2/promise` wraps one of `mysql2`. */
export function poolSource(pool: object): ConnectionSource {
  if ('connect' in pool) return new PgPoolSource(pool as PgPool, false);
  return new MysqlPoolSource(('pool' in pool ? pool.pool : pool) as MysqlPool, false);
}

/**
 * Opens what the option `storage` names.
 * @throws PaymentUnsupportedDataSourceError for an address of another kind of database
 */
export async function openStorage({
  url,
  pool,
  connections = DEFAULT_CONNECTIONS,
}: PaymentStorageOptions): Promise<ConnectionSource> {
  if (pool) return poolSource(pool);
  const scheme = url !== undefined && URL.canParse(url) ? new URL(url).protocol.slice(0, -1) : 'unknown';
  if (/^postgres(ql)?$/.test(scheme)) {
    const { default: pg } = (await import('pg')) as unknown as { default: { Pool: PgPoolClass } };
    return openPgPool(pg.Pool, { connectionString: url }, connections);
  }
  if (/^(mariadb|mysql)$/.test(scheme)) {
    const mysql = (await import('mysql2')) as unknown as MysqlPoolFactory;
    return openMysqlPool(mysql, { uri: url?.replace(/^mariadb:/, 'mysql:') }, connections);
  }
  throw new PaymentUnsupportedDataSourceError(scheme);
}

/** A pool of the module's own, which opens connections on demand. */
export function openPgPool(Pool: PgPoolClass, to: object, max: number): ConnectionSource {
  const name = { application_name: 'payment-acceptance' };
  // Older versions of `pg` ignore `pipeline`. Values in binary would mean something else to us.
  const protocol = { pipeline: true, binary: false };
  const { connectionString } = to as { connectionString?: string };
  const address = connectionString && { connectionString: connectionString.replace(LIMIT_PARAMETER_PATTERN, '') };
  const settings = { ...NO_LIMITS, ...name, ...protocol, min: 0, max, idleTimeoutMillis: IDLE_MS };
  const pool = new Pool({ ...to, ...address, ...settings });
  conceal(pool.options as { connectionString?: string }, 'connectionString');
  return new PgPoolSource(pool, true);
}

/** The same for `mysql2`, which closes idle connections only if `maxIdle` is less than `connectionLimit`. */
export function openMysqlPool(mysql: MysqlPoolFactory, to: object, connectionLimit: number): ConnectionSource {
  const pool = mysql.createPool({ ...to, connectionLimit, idleTimeout: IDLE_MS, maxIdle: connectionLimit - 1 });
  if (pool.config) conceal(pool.config.connectionConfig, 'password');
  return new MysqlPoolSource(pool, true);
}
