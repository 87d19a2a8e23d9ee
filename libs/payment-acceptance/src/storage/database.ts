import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import type { PaymentClock } from '../common/clock.js';
import { memoize } from '../common/memoize.js';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import { PaymentProbe } from '../common/probe.js';
import { DEFAULT_SCHEMA, isSchemaName, SCHEMA_NAME_RULE } from '../common/schema-name.js';
import type { Dialect } from './dialect.js';
import { HeldConnections } from './held-connections.js';
import { poolSizeOf } from './pool.js';
import { isConflict, isReadOnly } from './query-errors.js';
import { flag, readRows, type Reading } from './reading.js';
import { sql, type Statement } from './statement.js';
import { answerWithin } from './statement-limit.js';
import { PoolExhaustedError, ReadOnlyDatabaseError, StatementTimeoutError } from './storage.errors.js';
import { transact, type Transaction, type TransactionConnection, type TransactionOptions } from './transaction.js';

/** How often a transaction is tried that conflicts with others. */
const TRANSACTION_ATTEMPTS = 4;

/** How long a transaction of ours may stay without a statement, which follow one another at once, in milliseconds. */
const UNATTENDED_MS = 60_000;

/** Texts that are kept: all but those of statements that are put together. */
const MAX_TEXTS = 500;

/** Verb and table of a statement, for the probe. */
function statementName(sql: string): string {
  const verb = /\b(INSERT|UPDATE|DELETE|SELECT)\b/.exec(sql)?.[1] ?? sql.slice(0, 20);
  const written = /(?:INTO|UPDATE)\s+(payment_acceptance\.\w+)/.exec(sql)?.[1];
  return `${written ? (verb === 'SELECT' ? 'UPDATE' : verb) : verb} ${written ?? /payment_acceptance\.\w+/.exec(sql)?.[0] ?? ''}`.trim();
}

/** What a driver answers. */
export interface Answer {
  readonly rows: readonly Record<string, unknown>[];
  /** How many rows INSERT, UPDATE or DELETE has met. */
  readonly changed: number;
}

/** The host's data source, as our statements use it; `openDatabase` makes the one for its database. */
export abstract class Database {
  /** How the database writes what the other one writes differently. */
  abstract readonly dialect: Dialect;
  /** What stands before the name of each of our tables. */
  protected abstract readonly prefix: string;
  private readonly sent = memoize(
    (text) => ({ name: statementName(text), text: text.replaceAll(`${DEFAULT_SCHEMA}.`, this.prefix) }),
    MAX_TEXTS,
  );

  private readonly poolSize: number;
  private readonly held: HeldConnections;
  /** When the pool's connections were opened, of those that were opened since we know the pool. */
  private readonly openedAt = new WeakMap<object, number>();

  /**
   * @param schema name of the schema, or on MariaDB the prefix, of our tables
   * @throws RangeError for a name that statements cannot hold as it is
   */
  constructor(
    readonly dataSource: DataSource,
    private readonly clock: PaymentClock,
    readonly schema = DEFAULT_SCHEMA,
    readonly probe: PaymentProbe = new PaymentProbe(),
  ) {
    this.poolSize = poolSizeOf(dataSource);
    this.held = new HeldConnections(this.poolSize);
    if (!isSchemaName(schema)) throw new RangeError(`The name of the schema ${SCHEMA_NAME_RULE}`);
  }

  /** @throws UnsupportedDataSourceError where the server or its settings would do something else than our statements say. */
  abstract verify(): Promise<void>;

  /**
   * How long a statement may take, in milliseconds, and before it the pool to give it a connection. One that takes longer,
   * behind a lock or on a connection whose other side is gone, loses its connection: the pool then has room for another.
   * Any time unless the module's options have set it.
   */
  statementMs = Infinity;

  /**
   * For the shutdown: from now on no statement takes longer than this, and what is under way no longer than this from now,
   * since the host's pool closes only when all of its connections are back.
   */
  hurry(limitMs: number): void {
    this.statementMs = Math.min(this.statementMs, limitMs);
    const overdue = this.held.hurry(limitMs);
    const end = async (runner: QueryRunner): Promise<void> => this.destroy(runner, await runner.connect());
    // All at once, since each may take a second. Who waits for its statement is told by that.
    setTimeout(() => void Promise.allSettled(overdue().map(end)), limitMs).unref();
  }

  /**
   * Asks whether the server takes writes.
   * @throws ReadOnlyDatabaseError
   */
  async verifyWritable(): Promise<void> {
    const { dialect } = this;
    const text = sql`SELECT ${dialect.readOnly} AS "readOnly"`.text(dialect.parameter);
    await this.onRunner(undefined, undefined, async (runner) => {
      const [row] = (await runner.query(text)) as { readOnly: unknown }[];
      if (flag(row?.readOnly)) throw new ReadOnlyDatabaseError();
    });
  }

  /** How far our clock is ahead of the database's: what `Dialect.now` is given. */
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

  private run(statement: Statement, manager?: EntityManager): Promise<Answer> {
    const { values, limitMs } = statement;
    const whole = statement.text(this.dialect.parameter);
    return this.probed(whole, (text) => this.answer(text, values, manager, limitMs));
  }

  /**
   * Sends a text as it is, in the manager's transaction, or on a connection of its own. Never through the data source or
   * its manager: libraries make those follow the host's calls into the host's transaction, and roll ours back with it.
   */
  protected async send(
    text: string,
    values: readonly unknown[],
    manager: EntityManager | undefined,
    limitMs: number | undefined,
  ): Promise<unknown> {
    return this.onRunner(manager, limitMs, (runner) => runner.query(text, [...values]));
  }

  /**
   * Gives a statement the manager's connection, or one of its own, for as long as it may take. One that a read-only server
   * has refused has done nothing, and its connection is gone: it goes out again, until on a new connection the answer is how
   * things are now.
   * @param limitMs where it may take longer than others
   * @throws StatementTimeoutError after which the connection is gone, with its transaction
   * @throws PoolExhaustedError
   */
  protected async onRunner<T>(
    manager: EntityManager | undefined,
    limitMs: number | undefined,
    statement: (runner: QueryRunner) => Promise<T>,
  ): Promise<T> {
    const given = manager?.queryRunner;
    if (given) return this.inTime(given, statement, limitMs);
    const began = performance.now();
    for (let attempt = 1; ; attempt += 1) {
      const runner = this.dataSource.createQueryRunner();
      const connection = await this.connect(runner, limitMs);
      try {
        return await this.inTime(runner, statement);
      } catch (error) {
        if (!isReadOnly(error) || !this.mayHaveOthers(connection, began, attempt)) throw error;
      } finally {
        await this.release(runner);
      }
    }
  }

  /** For the pool's event: only a new connection tells which server is there now. */
  protected opened(connection: object): void {
    this.openedAt.set(connection, performance.now());
  }

  /** Whether other connections of the pool may lead to a server that takes writes, where this one's does not. */
  private mayHaveOthers(connection: object, began: number, attempt: number): boolean {
    return attempt <= this.poolSize && (this.openedAt.get(connection) ?? -Infinity) < began;
  }

  /**
   * Waits for a connection of the pool, and no longer than a statement may take: whoever keeps all of them may keep them for
   * good. A runner that got none needs no release.
   * @throws PoolExhaustedError
   */
  private async connect(runner: QueryRunner, limitMs?: number): Promise<object> {
    const { statementMs, held } = this;
    held.check();
    const connecting = runner.connect() as Promise<object>;
    let connection: object;
    try {
      connection = await (statementMs === Infinity ? connecting : withTimeout(statementMs, connecting));
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      releaseLater(runner, connecting);
      throw PoolExhaustedError.within(statementMs);
    }
    try {
      // Again: it may have been waited for while others came to hang.
      held.check();
    } catch (error) {
      await runner.release();
      throw error;
    }
    held.take(runner, limitMs === undefined ? statementMs : Math.max(limitMs, statementMs));
    return connection;
  }

  private release(runner: QueryRunner): Promise<void> {
    this.held.giveBack(runner);
    return runner.release();
  }

  private async inTime<T>(
    runner: QueryRunner,
    statement: (runner: QueryRunner) => Promise<T>,
    limitMs = 0,
  ): Promise<T> {
    const usualMs = this.held.limitOf(runner) ?? this.statementMs;
    try {
      return await answerWithin(Math.max(usualMs, limitMs), statement(runner));
    } catch (error) {
      if (error instanceof StatementTimeoutError) await this.destroy(runner, await runner.connect());
      else if (isReadOnly(error)) await this.discard(runner, await runner.connect());
      throw error;
    }
  }

  /** @param send gets the text with the names of our tables as they are here */
  protected async probed<T>(statement: string, send: (text: string) => Promise<T>): Promise<T> {
    const { name, text } = this.sent(statement);
    this.probe.reached(`before ${name}`);
    const answer = await send(text);
    this.probe.reached(`after ${name}`);
    return answer;
  }

  /** What the driver answers to {@link send}. */
  protected abstract answer(
    text: string,
    values: readonly unknown[],
    manager: EntityManager | undefined,
    limitMs: number | undefined,
  ): Promise<Answer>;

  /**
   * One transaction at READ COMMITTED: what SKIP LOCKED and re-reading under a lock are right at. Work that the database
   * gave up for another's sake (deadlock, serialization failure) was rolled back whole, and is done again.
   */
  async transaction<T>(work: (manager: EntityManager) => Promise<T>): Promise<T> {
    const { statementMs: limitMs } = this;
    const options = { level: await this.isolationLevel(), limitMs, ...this.endedAfter(UNATTENDED_MS) };
    const began = performance.now();
    let current: object = {};
    const connection: TransactionConnection = {
      connect: async (runner) => (current = await this.connect(runner)),
      release: (runner) => this.release(runner),
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
        if (isReadOnly(error) && this.mayHaveOthers(current, began, attempt)) continue;
        if (attempt >= TRANSACTION_ATTEMPTS || !isConflict(error)) throw error;
      }
    }
  }

  /** Whether nothing was done, for a reason that does not come again. */
  hasToBeRepeated(_error: unknown): boolean {
    return false;
  }

  /**
   * Has the server end a transaction that has had no statement for so long. An instance that freezes, or whose machine is
   * gone, does not say so: its locks, which everybody else passes over, would stay until TCP gives it up after hours.
   */
  abstract endedAfter(unattendedMs: number): Pick<TransactionOptions, 'before' | 'start' | 'after'>;

  /**
   * Makes sure that a connection can be destroyed with what runs on it.
   * @throws UndestroyableConnectionError
   */
  abstract verifyDestroyable(connection: unknown): void;

  /** Ends a connection. Resolves when the pool knows; the runner is still to be released. */
  abstract discard(runner: QueryRunner, connection: unknown): Promise<void>;

  /** Ends a connection and its server process at once. Resolves when the pool knows; the runner is still to be released. */
  abstract destroy(runner: QueryRunner, connection: unknown): Promise<void>;

  /** READ COMMITTED where it has to be asked for, with a statement more; `undefined` where transactions are so anyway. */
  abstract isolationLevel(): Promise<'READ COMMITTED' | undefined>;
}

/** Nobody waits any more for a connection of the pool: should it come after all, it goes back. */
export function releaseLater(runner: QueryRunner, connecting: Promise<unknown>): void {
  connecting.then(
    () => runner.release(),
    () => undefined,
  );
}
