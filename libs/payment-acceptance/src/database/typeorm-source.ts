import type { DataSource } from 'typeorm';
import type { Connection, ConnectionSource, PgDriver, StatementLog } from './connection-source.js';
import { PaymentUnsupportedDataSourceError } from './database.errors.js';
import { freeConnectionsOf, limitPgOpening, poolSizeOf, type ConnectingClient } from './pool.js';

interface PgPool {
  options: { readonly connectionTimeoutMillis?: number };
  Client: new (options: unknown) => PgConnection;
  on(event: 'connect', listener: (client: PgConnection) => void): void;
}

interface PgConnection extends ConnectingClient {
  on(event: 'error', listener: () => void): void;
}

interface MysqlPool {
  on(event: 'connection', listener: (connection: object) => void): void;
}

/** What TypeORM's drivers have, and do not declare. */
interface Driver {
  readonly master?: PgPool;
  readonly pool?: MysqlPool;
}

/** The pool of the host's data source. */
export class TypeOrmSource implements ConnectionSource {
  readonly type: ConnectionSource['type'];
  readonly size: number;
  readonly log: StatementLog | undefined;
  private readonly driver: Driver;
  private readonly releases = new WeakMap<Connection, (error?: Error) => unknown>();

  /** @throws PaymentUnsupportedDataSourceError for a database that cannot guarantee what the module promises */
  constructor(
    readonly dataSource: DataSource,
    { logStatements = false }: { readonly logStatements?: boolean | undefined } = {},
  ) {
    const { type } = dataSource.options;
    if (type !== 'postgres' && type !== 'mariadb' && type !== 'mysql')
      throw new PaymentUnsupportedDataSourceError(type);
    this.type = type === 'postgres' ? type : 'mariadb';
    this.size = poolSizeOf(dataSource);
    this.driver = dataSource.driver as unknown as Driver;
    if (logStatements) this.log = (text, values, send) => logged(dataSource, text, values, send);
  }

  get pg(): PgDriver | undefined {
    const { master } = this.driver;
    return master && { Client: master.Client, options: master.options };
  }

  free(): number {
    return freeConnectionsOf(this.dataSource);
  }

  /** Past the query runner, whose statements the host's subscribers and log see, and which some libraries replace. */
  async connect(): Promise<Connection> {
    const { driver } = this.dataSource;
    const obtained = await (
      driver as unknown as { obtainMasterConnection(): Promise<unknown> }
    ).obtainMasterConnection();
    if (this.type === 'mariadb') return obtained as Connection;
    const [client, release] = obtained as [PgConnection, (error?: Error) => unknown];
    // Without a listener, a session that the server ends would end the process. The caller still notices.
    if (!this.releases.has(client)) client.on('error', () => undefined);
    this.releases.set(client, release);
    return client;
  }

  release(connection: Connection, isBroken: boolean): void {
    if (this.type === 'mariadb') (connection as { release(): void }).release();
    else this.releases.get(connection)?.(isBroken ? new Error('The connection must not be used again.') : undefined);
  }

  onOpened(listener: (connection: Connection) => void): void {
    this.driver.master?.on('connect', (client) => {
      // TypeORM adds its own only after the first answer.
      client.on('error', () => undefined);
      listener(client);
    });
    this.driver.pool?.on('connection', listener);
  }

  limitOpening(limitMs: () => number): void {
    if (this.driver.master) limitPgOpening(this.driver.master, limitMs);
  }

  /** Only one that follows the calls, as `typeorm-transactional` makes them, can be seen from here. */
  isInsideHostTransaction(): boolean {
    return this.dataSource.manager.queryRunner?.isTransactionActive === true;
  }
}

/** Logs what TypeORM would: the statement, its error, and that it was slow. */
async function logged<T>(
  { logger, options: { maxQueryExecutionTime } }: DataSource,
  text: string,
  values: readonly unknown[],
  send: () => Promise<T>,
): Promise<T> {
  const parameters = [...values];
  logger.logQuery(text, parameters);
  const began = performance.now();
  try {
    return await send();
  } catch (error) {
    logger.logQueryError(error as Error, text, parameters);
    throw error;
  } finally {
    const tookMs = Math.round(performance.now() - began);
    if (maxQueryExecutionTime && tookMs > maxQueryExecutionTime) logger.logQuerySlow(tookMs, text, parameters);
  }
}
