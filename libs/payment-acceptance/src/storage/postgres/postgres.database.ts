import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { PaymentClock } from '../../common/clock.js';
import type { PaymentProbe } from '../../common/probe.js';
import { Database, type Answer } from '../database.js';
import { withTimeout } from '../../common/timeout.js';
import { readRows, type Reading } from '../reading.js';
import { closeNow } from '../socket.js';
import { sql, type Value } from '../statement.js';
import { UnsupportedDataSourceError } from '../storage.errors.js';
import type { TransactionOptions } from '../transaction.js';
import { postgres } from './dialect.js';
import { isPgClient, pgClientOf, removeFromPool } from './pg-connection.js';
import type { PreparedStatement } from './prepare.js';
import { PreparedStatements, PreparedStatementsUnavailableError } from './prepared-statements.js';

interface PgPool {
  on(event: 'connect', listener: (client: PgEvents) => void): void;
}

interface PgEvents {
  on(event: 'error', listener: () => void): void;
}

/** How long the server is asked, at most, to end what a closed connection has left, in milliseconds. */
const ENDING_MS = 2_000;

/** PostgreSQL takes no more. */
const MAX_UNATTENDED_MS = 2 ** 31 - 1;

/**
 * Between a connection's first answer and the listener that TypeORM adds to it, nobody hears its errors: one that the
 * server ends in that moment (a restart, an administrator) would end the whole process. Whoever uses it learns of the end
 * all the same, from the query that fails.
 */
function guardNewConnections(dataSource: DataSource): void {
  const { master } = dataSource.driver as { master?: PgPool };
  master?.on('connect', (client) => client.on('error', () => undefined));
}

/** A data source on PostgreSQL, through the driver `pg`. */
export class PostgresDatabase extends Database {
  override readonly dialect = postgres;
  protected override readonly prefix = `${this.schema}.`;
  private readonly preparedStatements: PreparedStatements;
  private readCommitted: boolean | undefined;

  constructor(dataSource: DataSource, clock: PaymentClock, schema?: string, probe?: PaymentProbe) {
    super(dataSource, clock, schema, probe);
    guardNewConnections(dataSource);
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
    const rows = await this.probed(statement.text, (text) => this.sendPrepared(text, values, manager));
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

  private async sendPrepared(text: string, values: unknown[], manager?: EntityManager): Promise<Answer['rows']> {
    if (this.preparedStatements.areUsable) {
      try {
        return await this.onRunner(manager, (runner) => this.preparedStatements.run(runner, text, values));
      } catch (error) {
        if (manager || !(error instanceof PreparedStatementsUnavailableError)) throw error;
      }
    }
    return (await this.answer(text, values, manager)).rows;
  }

  /** TypeORM gives UPDATE and DELETE as a pair of their rows and of how many these are. */
  protected override async answer(text: string, values: readonly unknown[], manager?: EntityManager): Promise<Answer> {
    const result = await this.send(text, values, manager);
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

  override async destroy(runner: QueryRunner, connection: unknown): Promise<void> {
    if (!isPgClient(connection)) return removeFromPool(runner);
    const { stream } = connection.connection;
    // A socket that has been lost says nothing of who has its process's number by now.
    const lost = stream.destroyed;
    await closeNow(stream);
    await removeFromPool(runner);
    // A closed socket does not end a query that is running on the server, nor release its locks. Where ending it is not
    // permitted, or not possible, what follows waits for those locks, and nothing is wrong but the delay.
    if (!lost) await withTimeout(ENDING_MS, this.endBackend(connection.processID)).catch(() => undefined);
  }

  /** Its connection is closed only where it takes too long: ending that one's backend would take one more, and so on. */
  private async endBackend(processID: number): Promise<void> {
    const runner = this.dataSource.createQueryRunner();
    try {
      const connection: unknown = await runner.connect();
      const ended = runner.query('SELECT pg_terminate_backend($1::int)', [processID]);
      await withTimeout(ENDING_MS, ended).catch(async (error: unknown) => {
        ended.catch(() => undefined);
        if (isPgClient(connection)) await closeNow(connection.connection.stream);
        await removeFromPool(runner);
        throw error;
      });
    } finally {
      await runner.release();
    }
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
