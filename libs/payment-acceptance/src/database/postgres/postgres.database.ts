import type { Connection } from '../connection-source.js';
import { Database, type TransactionBounds, type EnclosingTransaction } from '../database.js';
import { HostTransaction } from '../host-transaction.js';
import type { Answer } from '../queryable.js';
import { readRows, type ColumnReaders } from '../reading.js';
import { closeNow } from '../socket.js';
import { type Value } from '../statement.js';
import { PaymentUnsupportedDataSourceError } from '../database.errors.js';
import { cancelStatement } from './cancel-request.js';
import { postgres } from './dialect.js';
import { isPgClient, pgClientOf } from './pg-connection.js';
import { runOnClient } from './pg-query.js';
import type { PreparedStatement } from './prepare.js';
import { PreparedStatements, PreparedStatementsUnavailableError } from './prepared-statements.js';
import type { OwnTransaction } from '../own-transaction.js';

/** The maximum that PostgreSQL accepts. */
const MAX_UNATTENDED_MS = 2 ** 31 - 1;

/** A value of `idle_in_transaction_session_timeout`. */
export function idleTimeout(unattendedMs: number): number {
  return Math.min(Math.ceil(unattendedMs), MAX_UNATTENDED_MS);
}

function setIdleTimeout(unattendedMs: number): string {
  return `SET LOCAL idle_in_transaction_session_timeout = ${idleTimeout(unattendedMs)}`;
}

/** Without statistics, after an upgrade or a restore, compiling takes seconds, and the transaction holds its locks. */
const NO_JIT = 'SET LOCAL jit = off';

export class PostgresDatabase extends Database {
  override readonly dialect = postgres;
  protected override readonly prefix = `${this.schema}.`;
  private readonly preparedStatements = new PreparedStatements();
  private readCommitted: boolean | undefined;
  /** Whether the server has `transaction_timeout`: PostgreSQL 17 or newer. */
  private hasTransactionTimeout = false;

  /** With any encoding other than UTF-8, callbacks with characters that it lacks could never be stored. */
  override async verify(): Promise<void> {
    const [set] = await this.rows<{ server: string; client: string; transaction: string | null }>({})`
      SELECT current_setting('server_encoding') AS server, current_setting('client_encoding') AS client,
        current_setting('transaction_timeout', true) AS transaction`;
    const { server = '', client = '', transaction = null } = set ?? {};
    this.hasTransactionTimeout = transaction !== null;
    if (server !== 'UTF8') {
      throw new PaymentUnsupportedDataSourceError(
        'postgres',
        `Its database has the encoding ${server}, which cannot store every callback. Create one with ENCODING 'UTF8'.`,
      );
    }
    if (client !== 'UTF8') {
      throw new PaymentUnsupportedDataSourceError(
        'postgres',
        `Its connections have the client_encoding ${client}, but the driver sends UTF8. Remove the setting that overrides the driver's client_encoding.`,
      );
    }
  }

  /** Executes a prepared statement of the hot path; connections keep its plan if they can. */
  async execute<Row, Name extends string>(
    statement: PreparedStatement<Name>,
    parameters: Readonly<Record<Name, Value>>,
    reading: ColumnReaders<Row>,
    within?: EnclosingTransaction,
  ): Promise<Row[]> {
    if (within instanceof HostTransaction) {
      return within.rows(reading)`${statement.with(parameters, this.offsetMs)}`;
    }
    const values = statement.values(parameters, this.offsetMs);
    const rows = await this.sendProbed(statement.text, (text) => this.sendPrepared(text, values, within));
    return readRows(rows, reading);
  }

  /**
   * Like {@link execute}, but at READ COMMITTED, whatever the database's default: claims must skip rows that another
   * instance has just taken, where a stricter level would fail.
   */
  executeAtReadCommitted<Row, Name extends string>(
    statement: PreparedStatement<Name>,
    parameters: Readonly<Record<Name, Value>>,
    reading: ColumnReaders<Row>,
  ): Promise<Row[]> {
    return this.atReadCommitted((tx) => this.execute(statement, parameters, reading, tx));
  }

  /** Needs no transaction of its own if that is the level by default. */
  override async atReadCommitted<T>(work: (tx?: OwnTransaction) => Promise<T>): Promise<T> {
    return (await this.isReadCommitted()) ? work() : this.transaction(work);
  }

  private async sendPrepared(
    text: string,
    values: unknown[],
    transaction: OwnTransaction | undefined,
  ): Promise<Answer['rows']> {
    if (this.preparedStatements.areUsable) {
      const run = (connection: Connection): Promise<Answer['rows']> =>
        this.preparedStatements.run(connection, text, values);
      try {
        return await this.connections.run(transaction, undefined, run);
      } catch (error) {
        if (transaction || !(error instanceof PreparedStatementsUnavailableError)) throw error;
      }
    }
    return (await this.connections.run(transaction, undefined, (connection) => this.send(connection, text, values)))
      .rows;
  }

  override async send(connection: Connection, text: string, values: readonly unknown[] = []): Promise<Answer> {
    const { rows, rowCount } = await runOnClient(connection, { text, values });
    return { rows, changed: rowCount ?? 0 };
  }

  /** After the first such error, no further statement is prepared, so the repetition succeeds. */
  override mustRepeat(error: unknown): boolean {
    return error instanceof PreparedStatementsUnavailableError;
  }

  protected override async bounds(unattendedMs: number): Promise<TransactionBounds> {
    const level = (await this.isReadCommitted()) ? '' : ' ISOLATION LEVEL READ COMMITTED';
    const settings = [setIdleTimeout(unattendedMs), NO_JIT];
    if (this.hasTransactionTimeout) settings.push('SET LOCAL transaction_timeout = 0');
    return { begin: [[`START TRANSACTION${level}`, ...settings].join('; ')] };
  }

  override verifyDestroyable(connection: unknown): void {
    pgClientOf(connection);
  }

  override isPipelined(connection: Connection): boolean {
    return isPgClient(connection) && connection.pipeline === true;
  }

  override isBusy(connection: Connection): boolean {
    return pgClientOf(connection).readyForQuery === false;
  }

  override async discard(connection: Connection): Promise<void> {
    if (isPgClient(connection)) await closeNow(connection.connection.stream);
  }

  override async destroy(connection: Connection): Promise<void> {
    // A lost connection has no statement that could be cancelled.
    const isOpen = isPgClient(connection) && !connection.connection.stream.destroyed;
    if (isOpen) {
      // What is queued behind the statement, such as a COMMIT, must not be sent once it is cancelled. The connection stays
      // open meanwhile: PgBouncer takes requests only for those that are.
      connection.connection.stream.cork();
      await cancelStatement(connection);
    }
    await this.discard(connection);
  }

  async isReadCommitted(): Promise<boolean> {
    if (this.readCommitted !== undefined) return this.readCommitted;
    const [row] = await this.rows<{ level: string }>({})`
      SELECT current_setting('default_transaction_isolation') AS level`;
    this.readCommitted = row?.level === 'read committed';
    return this.readCommitted;
  }
}
