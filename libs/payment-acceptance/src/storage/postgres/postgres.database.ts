import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { PaymentClock } from '../../common/clock.js';
import type { PaymentProbe } from '../../common/probe.js';
import { Database, type Answer } from '../database.js';
import { readRows, type Reading } from '../reading.js';
import { closeNow } from '../socket.js';
import { sql, type Value } from '../statement.js';
import { UnsupportedDataSourceError } from '../storage.errors.js';
import type { TransactionOptions } from '../transaction.js';
import { cancelStatement } from './cancel-request.js';
import { postgres } from './dialect.js';
import { isPgClient, pgClientOf, removeFromPool } from './pg-connection.js';
import type { PreparedStatement } from './prepare.js';
import { PreparedStatements, PreparedStatementsUnavailableError } from './prepared-statements.js';

interface PgPool {
  readonly options?: { readonly connectionTimeoutMillis?: number };
  Client: new (options: object) => ConnectingClient;
  on(event: 'connect', listener: (client: ConnectingClient) => void): void;
}

interface ConnectingClient {
  /** How long connecting may take, in milliseconds; 0 is any time. */
  _connectionTimeoutMillis?: number;
  on(event: 'error', listener: () => void): void;
}

/** What `mysql2` allows for opening a connection. */
const OPENING_MS = 10_000;

/** PostgreSQL takes no more. */
const MAX_UNATTENDED_MS = 2 ** 31 - 1;

/**
 * Between a connection's first answer and the listener that TypeORM adds to it, nobody hears its errors: one that the
 * server ends in that moment (a restart, an administrator) would end the whole process. Whoever uses it learns of the end
 * all the same, from the query that fails.
 */
function guardNewConnection(client: ConnectingClient): void {
  client.on('error', () => undefined);
}

/**
 * Where the host's data source does not say how long opening a connection may take (`connectTimeoutMS`), `pg` waits for
 * good for a server that is gone without a word, with a place of the pool for each. Nothing else of the pool changes: who
 * waits for a place waits as before.
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

  constructor(dataSource: DataSource, clock: PaymentClock, schema?: string, probe?: PaymentProbe) {
    super(dataSource, clock, schema, probe);
    const { master } = dataSource.driver as { master?: PgPool };
    if (master) {
      master.on('connect', (client) => {
        guardNewConnection(client);
        this.opened(client);
      });
      limitOpening(master, this);
    }
    this.preparedStatements = new PreparedStatements(dataSource);
  }

  /** Any other encoding fails single callbacks for good: those with a character that it does not have. */
  override async verify(): Promise<void> {
    const [set] = await this.rows<{ server: string; client: string }>(
      sql`SELECT current_setting('server_encoding') AS server, current_setting('client_encoding') AS client`,
      {},
    );
    const { server = '', client = '' } = set ?? {};
    if (server !== 'UTF8') {
      throw new UnsupportedDataSourceError(
        'postgres',
        `Its database has the encoding ${server}, in which not every callback can be stored. Make one with ENCODING 'UTF8'.`,
      );
    }
    if (client !== 'UTF8') {
      throw new UnsupportedDataSourceError(
        'postgres',
        `Its connections have the client_encoding ${client}, and the driver sends UTF8. Leave client_encoding as the driver sets it.`,
      );
    }
  }

  /** Runs a statement that comes with every payment: where connections can keep its plan, they do. */
  async execute<Row, Name extends string>(
    statement: PreparedStatement<Name>,
    given: Readonly<Record<Name, Value>>,
    reading: Reading<Row>,
    manager?: EntityManager,
  ): Promise<Row[]> {
    const values = statement.values(given);
    const { text: whole, limitMs } = statement;
    const rows = await this.probed(whole, (text) => this.sendPrepared(text, values, manager, limitMs));
    return readRows(rows, reading);
  }

  /**
   * The same at READ COMMITTED, whatever the database's own default is: claims skip rows that another instance has just
   * taken, where a stricter level would fail.
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

  /** TypeORM gives UPDATE and DELETE as a pair of their rows and of how many these are. */
  protected override async answer(
    text: string,
    values: readonly unknown[],
    manager: EntityManager | undefined,
    limitMs: number | undefined,
  ): Promise<Answer> {
    const result = await this.send(text, values, manager, limitMs);
    if (!Array.isArray(result)) return { rows: [], changed: 0 };
    if (!Array.isArray(result[0])) return { rows: result as Answer['rows'][number][], changed: result.length };
    const [rows, changed] = result as [Answer['rows'], number];
    return { rows, changed };
  }

  /** From the first such answer on no statement is prepared. */
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

  override async discard(runner: QueryRunner, connection: unknown): Promise<void> {
    if (isPgClient(connection)) await closeNow(connection.connection.stream);
    await removeFromPool(runner);
  }

  override async destroy(runner: QueryRunner, connection: unknown): Promise<void> {
    // A socket that has been lost has no statement that could be cancelled.
    const isOpen = isPgClient(connection) && !connection.connection.stream.destroyed;
    await this.discard(runner, connection);
    if (isOpen) await cancelStatement(this.dataSource, connection);
  }

  override async isolationLevel(): Promise<'READ COMMITTED' | undefined> {
    const { isolationLevel } = this.dataSource.options as { isolationLevel?: string };
    return isolationLevel === undefined && (await this.isReadCommitted()) ? undefined : 'READ COMMITTED';
  }

  /** The database's own default, which is asked for once. */
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
