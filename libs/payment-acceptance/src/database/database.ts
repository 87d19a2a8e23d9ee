import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { PaymentClock } from '../common/clock.js';
import { memoize } from '../common/memoize.js';
import { PaymentProbe } from '../common/probe.js';
import { DEFAULT_SCHEMA, isSchemaName, SCHEMA_NAME_RULE } from '../common/schema-name.js';
import type { Dialect } from './dialect.js';
import { connectionOf } from './guarded-connection.js';
import { HostTransaction, type Answer } from './host-transaction.js';
import { PoolConnections, type ConnectionCloser } from './pool-connections.js';
import { isConflict, isReadOnly } from './query-errors.js';
import { flag, readRows, type Reading } from './reading.js';
import { StatementLog } from './statement-log.js';
import { sql, type Statement } from './statement.js';
import { PaymentReadOnlyDatabaseError } from './database.errors.js';
import { transact, type Transaction, type TransactionConnection, type TransactionOptions } from './transaction.js';

/** How often a transaction that conflicts with others is attempted. */
const TRANSACTION_ATTEMPTS = 4;

/** How long our transactions may idle, in milliseconds. Their statements follow one another immediately. */
const UNATTENDED_MS = 60_000;

/** Maximum cached texts: enough for all statements except those built dynamically. */
const MAX_TEXTS = 500;

/** The verb and table of a statement, for the probe. */
function statementName(sql: string): string {
  const verb = /\b(INSERT|UPDATE|DELETE|SELECT)\b/.exec(sql)?.[1] ?? sql.slice(0, 20);
  const written = /(?:INTO|UPDATE)\s+(payment_acceptance\.\w+)/.exec(sql)?.[1];
  return `${written ? (verb === 'SELECT' ? 'UPDATE' : verb) : verb} ${written ?? /payment_acceptance\.\w+/.exec(sql)?.[0] ?? ''}`.trim();
}

/** The transaction that a statement belongs to. */
export type Within = EntityManager | HostTransaction;

/** How a database is opened. */
export interface DatabaseSettings {
  /** Name of the schema, or on MariaDB the prefix, of our tables. Default `payment_acceptance`. */
  readonly schema?: string;
  /** Whether the host's TypeORM logging shows our statements. Default `false`. */
  readonly logStatements?: boolean;
  readonly probe?: PaymentProbe;
}

/** The host's data source, as our statements use it. Open it with `openDatabase`. */
export abstract class Database implements ConnectionCloser {
  /** The SQL that differs between databases. */
  abstract readonly dialect: Dialect;
  /** Prefix of each of our tables' names. */
  protected abstract readonly prefix: string;
  private readonly sent = memoize(
    (text) => ({ name: statementName(text), text: text.replaceAll(`${DEFAULT_SCHEMA}.`, this.prefix) }),
    MAX_TEXTS,
  );

  readonly schema: string;
  readonly probe: PaymentProbe;
  protected readonly log: StatementLog;
  private readonly connections: PoolConnections;

  /** @throws RangeError for a name of the schema that is not safe to use unescaped */
  constructor(
    readonly dataSource: DataSource,
    private readonly clock: PaymentClock,
    { schema = DEFAULT_SCHEMA, logStatements = false, probe = new PaymentProbe() }: DatabaseSettings = {},
  ) {
    this.schema = schema;
    this.probe = probe;
    this.log = new StatementLog(dataSource, logStatements);
    this.connections = new PoolConnections(dataSource, this);
    if (!isSchemaName(schema)) throw new RangeError(`The name of the schema ${SCHEMA_NAME_RULE}`);
  }

  /** @throws PaymentUnsupportedDataSourceError if the server or its settings would change the meaning of our statements */
  abstract verify(): Promise<void>;

  /**
   * Timeout of a statement, and before it of waiting for a connection, in milliseconds; none unless the module's options set
   * one. A statement that exceeds it, behind a lock or on a dead connection, loses its connection, so that the pool has room
   * for another.
   */
  get statementMs(): number {
    return this.connections.statementMs;
  }

  set statementMs(limitMs: number) {
    this.connections.statementMs = limitMs;
  }

  /**
   * For the shutdown: limits all further statements to this timeout, and destroys the connections of those in flight after
   * it, since the host's pool closes only once all of its connections are back.
   */
  hurry(limitMs: number): void {
    this.connections.hurry(limitMs);
  }

  /**
   * Verifies that the server is writable.
   * @throws PaymentReadOnlyDatabaseError
   */
  async verifyWritable(): Promise<void> {
    const { dialect } = this;
    const text = sql`SELECT ${dialect.readOnly} AS "readOnly"`.text(dialect.parameter);
    await this.onRunner(undefined, undefined, async (runner) => {
      const [row] = (await this.send(runner, text)).rows;
      if (flag(row?.readOnly)) throw new PaymentReadOnlyDatabaseError();
    });
  }

  /** How far our clock is ahead of the database's; the argument of `Dialect.now`. */
  get offsetMs(): number {
    return this.clock.offsetMs;
  }

  /**
   * Whether the caller is inside a transaction of the host's that follows its calls, as `typeorm-transactional` makes them. One
   * that the host passes on by hand, as the manager of `dataSource.transaction`, cannot be seen from here.
   */
  get insideHostTransaction(): boolean {
    return this.dataSource.manager.queryRunner?.isTransactionActive === true;
  }

  /** Executes a statement and returns its rows. */
  async rows<Row>(statement: Statement, reading: Reading<Row>, within?: Within): Promise<Row[]> {
    return readRows((await this.run(statement, within, 'rows')).rows, reading);
  }

  /** Executes a statement and returns the number of affected rows. */
  async change(statement: Statement, within?: Within): Promise<number> {
    return (await this.run(statement, within, 'count')).changed;
  }

  private run(statement: Statement, within: Within | undefined, gives: 'rows' | 'count'): Promise<Answer> {
    const { values, limitMs } = statement;
    if (within instanceof HostTransaction) {
      return this.probed(statement.text(within.parameter), (text) => within.send(text, values, gives));
    }
    const whole = statement.text(this.dialect.parameter);
    return this.probed(whole, (text) => this.answer(text, values, within, limitMs));
  }

  /**
   * Sends SQL unchanged, in the manager's transaction or on a connection of its own. Never through the data source or its
   * manager: some libraries route those into the host's transaction, which would roll our statements back with it.
   */
  protected answer(
    text: string,
    values: readonly unknown[],
    manager: EntityManager | undefined,
    limitMs: number | undefined,
  ): Promise<Answer> {
    return this.onRunner(manager, limitMs, (runner) => this.send(runner, text, values));
  }

  /**
   * Sends SQL on the runner's connection through the driver. The runner's `query` would log it as one of the host's, and call
   * the host's subscribers.
   */
  async send(runner: QueryRunner, text: string, values: readonly unknown[] = []): Promise<Answer> {
    if (runner.isReleased) throw new Error('The connection of this statement has been released.');
    const connection = await connectionOf(runner);
    return this.log.around(runner, text, values, () => this.sendOn(connection, text, values));
  }

  /** @throws QueryFailedError as TypeORM does */
  protected abstract sendOn(connection: unknown, text: string, values: readonly unknown[]): Promise<Answer>;

  /** See {@link PoolConnections.run}. */
  protected onRunner<T>(
    manager: EntityManager | undefined,
    limitMs: number | undefined,
    statement: (runner: QueryRunner) => Promise<T>,
  ): Promise<T> {
    return this.connections.run(manager, limitMs, statement);
  }

  /** See {@link PoolConnections.opened}. */
  protected opened(connection: object): void {
    this.connections.opened(connection);
  }

  /** @param send gets the text with the actual names of our tables */
  protected async probed<T>(statement: string, send: (text: string) => Promise<T>): Promise<T> {
    const { name, text } = this.sent(statement);
    this.probe.reached(`before ${name}`);
    const answer = await send(text);
    this.probe.reached(`after ${name}`);
    return answer;
  }

  /**
   * Runs a transaction at READ COMMITTED, which SKIP LOCKED and re-reading under a lock need. Work that was rolled back
   * because of a conflict (deadlock, serialization failure) is repeated.
   */
  async transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const { connections, statementMs: limitMs } = this;
    const options = { level: await this.isolationLevel(), limitMs, ...this.endedAfter(UNATTENDED_MS) };
    const began = performance.now();
    let current: object = {};
    const connection: TransactionConnection = {
      connect: async (runner) => (current = await connections.connect(runner)),
      send: (runner, text) => this.send(runner, text),
      release: (runner) => connections.release(runner),
      destroy: (runner, open) => this.destroy(runner, open),
    };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const run = (transaction: Transaction): Promise<T> => transaction.run(work, options);
        const result = await transact(this.dataSource, run, connection);
        this.probe.reached('after COMMIT');
        return result;
      } catch (error) {
        if (this.hasToBeRepeated(error)) continue;
        if (isReadOnly(error) && connections.mayHaveOthers(current, began, attempt)) continue;
        if (attempt >= TRANSACTION_ATTEMPTS || !isConflict(error)) throw error;
      }
    }
  }

  /** Whether nothing was done, for a reason that will not recur. */
  hasToBeRepeated(_error: unknown): boolean {
    return false;
  }

  /**
   * Lets the server end a transaction that idles for this long. Otherwise the locks of an instance that froze or lost its
   * machine, which all others skip, would stay until TCP gives up the connection after hours.
   */
  abstract endedAfter(unattendedMs: number): Pick<TransactionOptions, 'before' | 'start' | 'after'>;

  /**
   * Verifies that a connection can be destroyed while a statement runs on it.
   * @throws UndestroyableConnectionError
   */
  abstract verifyDestroyable(connection: unknown): void;

  /** Whether a statement is under way on the connection, whoever sent it. */
  abstract isBusy(connection: unknown): boolean;

  abstract discard(runner: QueryRunner, connection: unknown): Promise<void>;

  abstract destroy(runner: QueryRunner, connection: unknown): Promise<void>;

  /** READ COMMITTED if it must be set, which costs a statement; `undefined` if it is the default. */
  abstract isolationLevel(): Promise<'READ COMMITTED' | undefined>;
}
