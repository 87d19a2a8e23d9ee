import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { PaymentClock } from '../../common/clock.js';
import { Database, type DatabaseSettings, type Within } from '../database.js';
import { HostTransaction, type Answer } from '../host-transaction.js';
import { readRows, type Reading } from '../reading.js';
import { closeNow } from '../socket.js';
import { sql, type Value } from '../statement.js';
import { PaymentUnsupportedDataSourceError } from '../database.errors.js';
import type { TransactionOptions } from '../transaction.js';
import { cancelStatement } from './cancel-request.js';
import { postgres } from './dialect.js';
import { isPgClient, pgClientOf, removeFromPool } from './pg-connection.js';
import { runOnClient } from './pg-query.js';
import type { PreparedStatement } from './prepare.js';
import { PreparedStatements, PreparedStatementsUnavailableError } from './prepared-statements.js';

interface PgPool {
  readonly options?: { readonly connectionTimeoutMillis?: number };
  Client: new (options: object) => ConnectingClient;
  on(event: 'connect', listener: (client: ConnectingClient) => void): void;
}

interface ConnectingClient {
  /** Timeout of connecting, in milliseconds; 0 for none. */
  _connectionTimeoutMillis?: number;
  on(event: 'error', listener: () => void): void;
}

/** The default of `mysql2`. */
const OPENING_MS = 10_000;

/** The maximum that PostgreSQL accepts. */
const MAX_UNATTENDED_MS = 2 ** 31 - 1;

/**
 * TypeORM adds its error listener only after a connection's first answer. If the server ends the connection before that (a
 * restart, an administrator), the unhandled error would end the process. The caller still notices, since its query fails.
 */
function guardNewConnection(client: ConnectingClient): void {
  client.on('error', () => undefined);
}

/**
 * Without `connectTimeoutMS` in the host's data source, `pg` waits for ever for a server that does not answer, and each wait
 * takes a slot of the pool. This adds a timeout for connecting only; waiting for a free connection of the pool stays as it
 * is.
 */
function limitOpening(pool: PgPool, database: Database): void {
  if (pool.options?.connectionTimeoutMillis) return;
  const { Client } = pool;
  pool.Client = class extends Client {
    override _connectionTimeoutMillis = Math.min(
      this._connectionTimeoutMillis || Infinity,
      OPENING_MS,
      database.statementMs,
    );
  };
}

/** A data source on PostgreSQL, through the driver `pg`. */
export class PostgresDatabase extends Database {
  override readonly dialect = postgres;
  protected override readonly prefix = `${this.schema}.`;
  private readonly preparedStatements: PreparedStatements;
  private readCommitted: boolean | undefined;

  constructor(dataSource: DataSource, clock: PaymentClock, settings?: DatabaseSettings) {
    super(dataSource, clock, settings);
    const { master } = dataSource.driver as { master?: PgPool };
    if (master) {
      master.on('connect', (client) => {
        guardNewConnection(client);
        this.opened(client);
      });
      limitOpening(master, this);
    }
    this.preparedStatements = new PreparedStatements(this.log);
  }

  /** With any other encoding than UTF-8, callbacks with characters outside of it could never be stored. */
  override async verify(): Promise<void> {
    const [set] = await this.rows<{ server: string; client: string }>(
      sql`SELECT current_setting('server_encoding') AS server, current_setting('client_encoding') AS client`,
      {},
    );
    const { server = '', client = '' } = set ?? {};
    if (server !== 'UTF8') {
      throw new PaymentUnsupportedDataSourceError(
        'postgres',
        `Its database has the encoding ${server}, in which not every callback can be stored. Make one with ENCODING 'UTF8'.`,
      );
    }
    if (client !== 'UTF8') {
      throw new PaymentUnsupportedDataSourceError(
        'postgres',
        `Its connections have the client_encoding ${client}, but the driver sends UTF8. Leave client_encoding as the driver sets it.`,
      );
    }
  }

  /** Executes a prepared statement of the hot path, whose plan connections keep if they can. */
  async execute<Row, Name extends string>(
    statement: PreparedStatement<Name>,
    given: Readonly<Record<Name, Value>>,
    reading: Reading<Row>,
    within?: Within,
  ): Promise<Row[]> {
    if (within instanceof HostTransaction) return this.rows(statement.with(given), reading, within);
    const values = statement.values(given);
    const { text: whole, limitMs } = statement;
    const rows = await this.probed(whole, (text) => this.sendPrepared(text, values, within, limitMs));
    return readRows(rows, reading);
  }

  /**
   * The same at READ COMMITTED, whatever the database's default: claims must skip rows that another instance has just taken,
   * where a stricter level would fail.
   */
  async executeAtReadCommitted<Row, Name extends string>(
    statement: PreparedStatement<Name>,
    given: Readonly<Record<Name, Value>>,
    reading: Reading<Row>,
  ): Promise<Row[]> {
    if (await this.isReadCommitted()) return this.execute(statement, given, reading);
    return this.transaction((manager) => this.execute(statement, given, reading, manager));
  }

  private async sendPrepared(
    text: string,
    values: unknown[],
    manager: EntityManager | undefined,
    limitMs: number | undefined,
  ): Promise<Answer['rows']> {
    if (this.preparedStatements.areUsable) {
      try {
        return await this.onRunner(manager, limitMs, (runner) => this.preparedStatements.run(runner, text, values));
      } catch (error) {
        if (manager || !(error instanceof PreparedStatementsUnavailableError)) throw error;
      }
    }
    return (await this.answer(text, values, manager, limitMs)).rows;
  }

  protected override async sendOn(connection: unknown, text: string, values: readonly unknown[]): Promise<Answer> {
    const { rows, rowCount } = await runOnClient(connection, { text, values });
    return { rows, changed: rowCount ?? 0 };
  }

  /** After the first such error, no further statement is prepared, so the repetition succeeds. */
  override hasToBeRepeated(error: unknown): boolean {
    return error instanceof PreparedStatementsUnavailableError;
  }

  override endedAfter(unattendedMs: number): Pick<TransactionOptions, 'start'> {
    const ms = Math.min(Math.ceil(unattendedMs), MAX_UNATTENDED_MS);
    return { start: `START TRANSACTION; SET LOCAL idle_in_transaction_session_timeout = ${ms}` };
  }

  override verifyDestroyable(connection: unknown): void {
    pgClientOf(connection);
  }

  override isBusy(connection: unknown): boolean {
    return pgClientOf(connection).readyForQuery === false;
  }

  override async discard(runner: QueryRunner, connection: unknown): Promise<void> {
    if (isPgClient(connection)) await closeNow(connection.connection.stream);
    await removeFromPool(runner);
  }

  override async destroy(runner: QueryRunner, connection: unknown): Promise<void> {
    // A lost connection has no statement that could be cancelled.
    const isOpen = isPgClient(connection) && !connection.connection.stream.destroyed;
    await this.discard(runner, connection);
    if (isOpen) await cancelStatement(this.dataSource, connection);
  }

  override async isolationLevel(): Promise<'READ COMMITTED' | undefined> {
    const { isolationLevel } = this.dataSource.options as { isolationLevel?: string };
    return isolationLevel === undefined && (await this.isReadCommitted()) ? undefined : 'READ COMMITTED';
  }

  /** Whether READ COMMITTED is the default of the database. Cached. */
  private async isReadCommitted(): Promise<boolean> {
    if (this.readCommitted !== undefined) return this.readCommitted;
    const [row] = await this.rows<{ level: string }>(
      sql`SELECT current_setting('default_transaction_isolation') AS level`,
      {},
    );
    this.readCommitted = row?.level === 'read committed';
    return this.readCommitted;
  }
}
