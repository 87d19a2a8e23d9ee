import { concealed } from '../common/secret.js';
import type { Connection, ConnectionSource, PgDriver } from './connection-source.js';
import type { PaymentStorageOptions } from './storage-options.js';
import { PaymentUnsupportedDataSourceError } from './database.errors.js';
import { DEFAULT_POOL_SIZE, limitPgOpening, occupiedOf, type MysqlOccupancy, type PgOccupancy } from './pool.js';

/** How long a connection that the module has opened may be unused before it is closed, in milliseconds. */
const IDLE_MS = 10_000;

interface PgPool extends PgOccupancy {
  readonly options: { readonly max?: number; readonly connectionTimeoutMillis?: number };
  Client: new (options: unknown) => object;
  connect(): Promise<PgConnection>;
  end(): Promise<void>;
  on(event: 'connect', listener: (client: PgConnection) => void): void;
}

interface PgConnection {
  release(error?: Error): void;
  on(event: 'error', listener: () => void): void;
}

interface MysqlPool extends MysqlOccupancy {
  readonly config: { readonly connectionLimit?: number };
  getConnection(done: (error: Error | null, connection: MysqlConnection) => void): void;
  end(done: () => void): void;
  on(event: 'connection', listener: (connection: Connection) => void): void;
}

interface MysqlConnection {
  release(): void;
  destroy(): void;
}

/** A `pg.Pool`. */
class PgPoolSource implements ConnectionSource {
  readonly type = 'postgres';
  readonly size: number;
  private readonly guarded = new WeakSet<Connection>();

  constructor(
    private readonly pool: PgPool,
    private readonly isOurs: boolean,
  ) {
    this.size = pool.options.max ?? DEFAULT_POOL_SIZE;
  }

  get pg(): PgDriver {
    return { Client: this.pool.Client, options: this.pool.options };
  }

  free(): number {
    return this.size - occupiedOf(this.pool);
  }

  async connect(): Promise<Connection> {
    const client = await this.pool.connect();
    // Without a listener, a session that the server ends would end the process. The caller still notices.
    if (!this.guarded.has(client)) client.on('error', () => undefined);
    this.guarded.add(client);
    return client;
  }

  release(connection: Connection, isBroken: boolean): void {
    const error = isBroken ? new Error('The connection must not be used again.') : undefined;
    (connection as PgConnection).release(error);
  }

  onOpened(listener: (connection: Connection) => void): void {
    this.pool.on('connect', listener);
  }

  limitOpening(limitMs: () => number): void {
    limitPgOpening(this.pool, limitMs);
  }

  async close(): Promise<void> {
    if (this.isOurs) await this.pool.end();
  }
}

/** A pool of `mysql2`. */
class MysqlPoolSource implements ConnectionSource {
  readonly type = 'mariadb';
  readonly size: number;

  constructor(
    private readonly pool: MysqlPool,
    private readonly isOurs: boolean,
  ) {
    this.size = pool.config.connectionLimit ?? DEFAULT_POOL_SIZE;
  }

  free(): number {
    return this.size - occupiedOf(this.pool);
  }

  connect(): Promise<Connection> {
    return new Promise((resolve, reject) =>
      this.pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection))),
    );
  }

  release(connection: Connection, isBroken: boolean): void {
    const own = connection as MysqlConnection;
    if (isBroken) own.destroy();
    else own.release();
  }

  onOpened(listener: (connection: Connection) => void): void {
    this.pool.on('connection', listener);
  }

  /** Its driver has a limit by itself. */
  limitOpening(): void {}

  async close(): Promise<void> {
    if (this.isOurs) await new Promise<void>((resolve) => this.pool.end(resolve));
  }
}

/**
 * Opens what the option `storage` names.
 * @throws PaymentUnsupportedDataSourceError for an address of another kind of database
 */
export async function openStorage({ url, pool, connections = 4 }: PaymentStorageOptions): Promise<ConnectionSource> {
  if (pool) {
    if ('totalCount' in pool) return new PgPoolSource(pool as PgPool, false);
    // One of `mysql2/promise` has it within.
    return new MysqlPoolSource(('pool' in pool ? pool.pool : pool) as MysqlPool, false);
  }
  const scheme = url !== undefined && URL.canParse(url) ? new URL(url).protocol.slice(0, -1) : 'unknown';
  if (/^postgres(ql)?$/.test(scheme)) {
    const { default: pg } = (await import('pg')) as unknown as { default: { Pool: new (options: object) => PgPool } };
    const opened = new pg.Pool({
      connectionString: url,
      max: connections,
      idleTimeoutMillis: IDLE_MS,
      application_name: 'payment-acceptance',
    });
    concealed(opened.options as { connectionString?: string }, 'connectionString');
    // The end of an idle session would end the process.
    (opened as unknown as PgConnection).on('error', () => undefined);
    return new PgPoolSource(opened, true);
  }
  if (/^(mariadb|mysql)$/.test(scheme)) {
    const { createPool } = (await import('mysql2')) as unknown as { createPool: (options: object) => MysqlPool };
    const uri = url?.replace(/^mariadb:/, 'mysql:');
    return new MysqlPoolSource(
      createPool({ uri, connectionLimit: connections, idleTimeout: IDLE_MS, maxIdle: connections - 1 }),
      true,
    );
  }
  throw new PaymentUnsupportedDataSourceError(scheme);
}
