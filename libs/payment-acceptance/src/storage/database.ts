import { QueryFailedError, type DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import type { PaymentClock } from '../common/clock.js';
import { PaymentProbe } from '../common/probe.js';
import { memoize } from '../common/memoize.js';
import type { Dialect } from './dialect.js';
import { postgres } from './postgres/dialect.js';
import { PreparedStatements, PreparedStatementsUnavailableError } from './prepared-statements.js';
import { closeNow, isPgClient, pgClientOf, removeFromPool } from './pg-connection.js';
import { readRows, type Reading } from './reading.js';
import type { Statement } from './statement.js';
import { transact, type TransactionOptions } from './transaction.js';

interface PgPool {
  on(event: 'connect', listener: (client: PgEvents) => void): void;
}

interface PgEvents {
  on(event: 'error', listener: () => void): void;
}

/**
 * Between a connection's first answer and the listener that TypeORM adds to it, nobody hears its errors: one that the
 * server ends in that moment (a restart, an administrator) would end the whole process. Whoever uses it learns of the end
 * all the same, from the query that fails.
 */
function guardNewConnections(dataSource: DataSource): void {
  const { master } = dataSource.driver as { master?: PgPool };
  master?.on('connect', (client) => client.on('error', () => undefined));
}

/** How often a transaction is tried that conflicts with others. */
const TRANSACTION_ATTEMPTS = 4;

/** How long a transaction of ours may stay without a statement, which follow one another at once, in milliseconds. */
const UNATTENDED_MS = 60_000;

/** PostgreSQL takes no more. */
const MAX_UNATTENDED_MS = 2 ** 31 - 1;

/** What PostgreSQL and MariaDB say of a statement that fails; MariaDB has numbers beside. */
function trouble(error: unknown): { code?: unknown; errno?: unknown; sqlState?: unknown } {
  return error instanceof QueryFailedError ? (error.driverError as object) : {};
}

/** Deadlock, serialization failure; on MariaDB also a lock that did not come and a row that changed meanwhile. */
const CONFLICTS = new Set<unknown>(['40001', '40P01', 1213, 1205, 1020]);

/** Whether the work was given up for another's sake. */
export function isConflict(error: unknown): boolean {
  const { code, errno } = trouble(error);
  return CONFLICTS.has(errno ?? code);
}

/** SQLSTATE classes of what is wrong with the database or the connection, not with what was written. */
const TROUBLE_OF_ALL = new Set(['08', '25', '40', '53', '57', '58', '70', 'HY']);

/** Whether one of the rows that a statement wrote may be to blame, so that the others would pass without it. */
export function mayConcernOneRow(error: unknown): boolean {
  const { code, errno, sqlState = errno === undefined ? code : undefined } = trouble(error);
  return typeof sqlState === 'string' && !TROUBLE_OF_ALL.has(sqlState.slice(0, 2));
}

/** Verb and table of a statement, for the probe. */
function statementName(sql: string): string {
  const verb = /\b(INSERT|UPDATE|DELETE|SELECT)\b/.exec(sql)?.[1] ?? sql.slice(0, 20);
  const written = /(?:INTO|UPDATE)\s+(payment_acceptance\.\w+)/.exec(sql)?.[1];
  return `${written ? (verb === 'SELECT' ? 'UPDATE' : verb) : verb} ${written ?? /payment_acceptance\.\w+/.exec(sql)?.[0] ?? ''}`.trim();
}

/** Whether the error says that a row with the same unique key exists already. */
export function isUniqueViolation(error: unknown): boolean {
  const { code, errno } = trouble(error);
  return code === '23505' || errno === 1062;
}

/** What a driver answers. */
export interface Answer {
  readonly rows: readonly Record<string, unknown>[];
  /** How many rows UPDATE or DELETE has met. */
  readonly changed: number;
}

/** The host's data source, as our statements use it; `openDatabase` makes one. */
export class Database {
  /** How the database writes what the other one writes differently. */
  readonly dialect: Dialect = postgres;
  private readonly nameOf = memoize(statementName);
  private readonly preparedStatements: PreparedStatements;
  private readCommitted: boolean | undefined;

  constructor(
    readonly dataSource: DataSource,
    private readonly clock: PaymentClock,
    readonly probe: PaymentProbe = new PaymentProbe(),
  ) {
    guardNewConnections(dataSource);
    this.preparedStatements = new PreparedStatements(dataSource);
  }

  /** First parameter of every statement that says {@link NOW}. */
  get offsetMs(): number {
    return this.clock.offsetMs;
  }

  /** Runs one statement and gives its rows. */
  async rows<Row>(statement: Statement, reading: Reading<Row>, manager?: EntityManager): Promise<Row[]> {
    return readRows((await this.run(statement, manager)).rows, reading);
  }

  /** Runs one statement, and gives the number of rows that it has updated or deleted. */
  async change(statement: Statement, manager?: EntityManager): Promise<number> {
    return (await this.run(statement, manager)).changed;
  }

  private run(statement: Statement, manager = this.dataSource.manager): Promise<Answer> {
    const text = statement.text((place) => this.dialect.parameter(place));
    return this.probed(text, () => this.answer(text, statement.values, manager));
  }

  /** Runs one statement and gives its rows, also those of UPDATE … RETURNING, which TypeORM nests. */
  async query<Row>(
    sql: string,
    parameters: unknown[],
    manager: EntityManager = this.dataSource.manager,
  ): Promise<Row[]> {
    return this.probed(sql, () => this.send<Row>(sql, parameters, manager));
  }

  /** The same for a statement that comes with every payment: where connections can keep its plan, they do. */
  async prepared<Row>(
    sql: string,
    parameters: unknown[],
    manager: EntityManager = this.dataSource.manager,
  ): Promise<Row[]> {
    return this.probed(sql, () => this.sendPrepared<Row>(sql, parameters, manager));
  }

  private async probed<T>(sql: string, send: () => Promise<T>): Promise<T> {
    const name = this.nameOf(sql);
    this.probe.reached(`before ${name}`);
    const answer = await send();
    this.probe.reached(`after ${name}`);
    return answer;
  }

  protected async sendPrepared<Row>(sql: string, parameters: unknown[], manager: EntityManager): Promise<Row[]> {
    if (!this.preparedStatements.areUsable) return this.send<Row>(sql, parameters, manager);
    const { queryRunner } = manager;
    if (queryRunner) return this.preparedStatements.run<Row>(queryRunner, sql, parameters);
    const runner = this.dataSource.createQueryRunner();
    try {
      return await this.preparedStatements.run<Row>(runner, sql, parameters);
    } catch (error) {
      if (!(error instanceof PreparedStatementsUnavailableError)) throw error;
    } finally {
      await runner.release();
    }
    return this.send<Row>(sql, parameters, manager);
  }

  protected async send<Row>(sql: string, parameters: unknown[], manager: EntityManager): Promise<Row[]> {
    return (await this.answer(sql, parameters, manager)).rows as Row[];
  }

  /** Sends the text as it is. TypeORM gives UPDATE and DELETE as a pair of their rows and of how many these are. */
  protected async answer(text: string, values: readonly unknown[], manager: EntityManager): Promise<Answer> {
    const result: unknown = await manager.query(text, [...values]);
    if (!Array.isArray(result)) return { rows: [], changed: 0 };
    const [rows, changed] = (result.length === 2 && Array.isArray(result[0]) ? result : [result, 0]) as [
      Answer['rows'],
      number,
    ];
    return { rows, changed };
  }

  /**
   * One statement at READ COMMITTED, whatever the database's own default is: claims skip rows that another instance has
   * just taken, where a stricter level would fail. Like `prepared`.
   */
  async atReadCommitted<Row>(sql: string, parameters: unknown[]): Promise<Row[]> {
    if (await this.isReadCommitted()) return this.prepared<Row>(sql, parameters);
    return this.transaction((manager) => this.prepared<Row>(sql, parameters, manager));
  }

  /**
   * One transaction at READ COMMITTED: what SKIP LOCKED and re-reading under a lock are right at. Work that the database
   * gave up for another's sake (deadlock, serialization failure) was rolled back whole, and is done again.
   */
  async transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const options = { level: await this.isolationLevel(), ...this.endedAfter(UNATTENDED_MS) };
    const destroy = this.destroy.bind(this);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const result = await transact(this.dataSource, work, options, destroy);
        this.probe.reached('after COMMIT');
        return result;
      } catch (error) {
        // Once at most: from then on none is named.
        if (error instanceof PreparedStatementsUnavailableError) continue;
        if (attempt >= TRANSACTION_ATTEMPTS || !isConflict(error)) throw error;
      }
    }
  }

  /**
   * Has the server end a transaction that has had no statement for so long. An instance that freezes, or whose machine is
   * gone, does not say so: its locks, which everybody else passes over, would stay until TCP gives it up after hours.
   */
  endedAfter(unattendedMs: number): Pick<TransactionOptions, 'before' | 'start' | 'after'> {
    const ms = Math.min(Math.ceil(unattendedMs), MAX_UNATTENDED_MS);
    return { start: `START TRANSACTION; SET LOCAL idle_in_transaction_session_timeout = ${ms}` };
  }

  /**
   * Makes sure that a connection can be destroyed with what runs on it.
   * @throws UndestroyableConnectionError
   */
  verifyDestroyable(connection: unknown): void {
    pgClientOf(connection);
  }

  /** Ends a connection and its server process at once. Resolves when the pool knows; the runner is still to be released. */
  async destroy(runner: QueryRunner, connection: unknown): Promise<void> {
    if (isPgClient(connection)) {
      const { stream } = connection.connection;
      // A socket that has been lost says nothing of who has its process's number by now.
      const lost = stream.destroyed;
      const closed = closeNow(stream);
      // A closed socket does not end a query that is running on the server, nor release its locks. Where ending it is not
      // permitted, what follows waits for those locks, and nothing is wrong but the delay.
      const end = (): Promise<unknown> => this.query(`SELECT pg_terminate_backend($1::int)`, [connection.processID]);
      await Promise.all([closed, lost ? undefined : end().catch(() => undefined)]);
    }
    await removeFromPool(runner);
  }

  /** READ COMMITTED where it has to be asked for, with a statement more; `undefined` where transactions are so anyway. */
  async isolationLevel(): Promise<'READ COMMITTED' | undefined> {
    const { isolationLevel } = this.dataSource.options as { isolationLevel?: string };
    return isolationLevel === undefined && (await this.isReadCommitted()) ? undefined : 'READ COMMITTED';
  }

  /** The database's own default, which is asked for once. */
  private async isReadCommitted(): Promise<boolean> {
    if (this.readCommitted !== undefined) return this.readCommitted;
    const [row] = await this.query<{ level: string }>(
      `SELECT current_setting('default_transaction_isolation') AS level`,
      [],
    );
    this.readCommitted = row?.level === 'read committed';
    return this.readCommitted;
  }
}
