import type { PaymentClock } from '../common/clock.js';
import { memoize } from '../common/memoize.js';
import { PaymentProbe } from '../common/probe.js';
import { DEFAULT_SCHEMA, isSchemaName, SCHEMA_NAME_RULE } from './storage-options.js';
import type { Dialect } from './dialect.js';
import type { Connection, ConnectionSource } from './connection-source.js';
import { Connections, MAX_ATTEMPTS, type ConnectionCloser } from './connections.js';
import type { HostTransaction } from './host-transaction.js';
import { OwnTransaction } from './own-transaction.js';
import { isConflict, isReadOnly } from './query-errors.js';
import { Queryable, type Answer } from './queryable.js';
import { flag } from './reading.js';
import { rawSql, sql, type Statement } from './statement.js';
import { PaymentReadOnlyDatabaseError, PaymentStatementTimeoutError } from './database.errors.js';
import { withStatementTimeout } from './statement-timeout.js';

/** The server ends our transactions if they idle for longer; their statements normally follow one another at once. */
const MAX_IDLE_MS = 60_000;

/** Maximum cached texts: enough for all statements except those built dynamically. */
const MAX_TEXTS = 500;

function statementName(sql: string): string {
  const verb = /\b(INSERT|UPDATE|DELETE|SELECT)\b/.exec(sql)?.[1] ?? sql.slice(0, 20);
  const writtenTable = /(?:INTO|UPDATE)\s+(payment_acceptance\.\w+)/.exec(sql)?.[1];
  return `${writtenTable ? (verb === 'SELECT' ? 'UPDATE' : verb) : verb} ${writtenTable ?? /payment_acceptance\.\w+/.exec(sql)?.[0] ?? ''}`.trim();
}

export type EnclosingTransaction = OwnTransaction | HostTransaction;

/** `begin` starts one of the module's own transactions; `after` is sent once it has ended. */
export interface TransactionBounds {
  readonly begin: readonly string[];
  readonly after?: string;
}

export interface DatabaseSettings {
  /** Name of the schema, or on MariaDB the prefix, of our tables. Default `payment_acceptance`. */
  readonly schema?: string;
  readonly probe?: PaymentProbe;
  /** In milliseconds. Default none. */
  readonly statementTimeoutMs?: number;
}

export type KeyedTable = 'bill' | 'callback' | 'delivery' | 'operator_action';

export function keyOf(table: KeyedTable): Statement {
  return rawSql(table === 'bill' ? 'intent_id' : 'id');
}

/** Open it with `openDatabase`, which verifies the server. */
export abstract class Database extends Queryable implements ConnectionCloser {
  abstract readonly dialect: Dialect;
  protected abstract readonly prefix: string;
  private readonly sent = memoize(
    (text) => ({ name: statementName(text), text: text.replaceAll(`${DEFAULT_SCHEMA}.`, this.prefix) }),
    MAX_TEXTS,
  );

  readonly schema: string;
  readonly probe: PaymentProbe;
  readonly connections: Connections;

  /** @throws RangeError for a name of the schema that is not safe to use unescaped */
  constructor(
    readonly source: ConnectionSource,
    private readonly clock: PaymentClock,
    { schema = DEFAULT_SCHEMA, probe = new PaymentProbe() }: DatabaseSettings = {},
  ) {
    super();
    this.schema = schema;
    this.probe = probe;
    this.connections = new Connections(source, this);
    if (!isSchemaName(schema)) throw new RangeError(`The name of the schema ${SCHEMA_NAME_RULE}`);
  }

  /** @throws PaymentUnsupportedDataSourceError if the server's settings would change the meaning of our statements */
  abstract verify(): Promise<void>;

  async verifyWritable(): Promise<void> {
    const { dialect } = this;
    const text = sql`SELECT ${dialect.readOnly} AS "readOnly"`.text(dialect.parameter);
    await this.connections.run(undefined, undefined, async (connection) => {
      const [row] = (await this.send(connection, text)).rows;
      if (flag(row?.readOnly)) throw new PaymentReadOnlyDatabaseError();
    });
  }

  /** How far our clock is ahead of the database's; the argument of `Dialect.now`. */
  get offsetMs(): number {
    return this.clock.offsetMs;
  }

  now(laterMs = 0): Statement {
    return this.dialect.now(this.offsetMs + laterMs);
  }

  override run(statement: Statement, _gives: 'rows' | 'count', timeoutMs?: number): Promise<Answer> {
    return this.runIn(undefined, statement, timeoutMs);
  }

  runIn(transaction: OwnTransaction | undefined, statement: Statement, timeoutMs?: number): Promise<Answer> {
    const whole = statement.text(this.dialect.parameter);
    return this.sendProbed(whole, (text) =>
      this.connections.run(transaction, timeoutMs, (connection) => this.send(connection, text, statement.values)),
    );
  }

  /** @throws QueryFailedError */
  abstract send(connection: Connection, text: string, values?: readonly unknown[]): Promise<Answer>;

  /** Runs all of the work's statements on one connection, outside any transaction. */
  async holding<T>(work: (held: OwnTransaction) => Promise<T>): Promise<T> {
    const held = new OwnTransaction(this, await this.connections.connect());
    try {
      return await work(held);
    } finally {
      held.isOver = true;
      this.connections.release(held.connection);
    }
  }

  /** @param send gets the text with the actual names of our tables */
  async sendProbed<T>(statement: string, send: (text: string) => Promise<T>): Promise<T> {
    const { name, text } = this.sent(statement);
    this.probe.reached(`before ${name}`);
    const answer = await send(text);
    this.probe.reached(`after ${name}`);
    return answer;
  }

  /**
   * Runs a transaction at READ COMMITTED, which SKIP LOCKED and re-reading under a lock need. Work that was rolled back
   * because of a conflict (deadlock, serialization failure) is repeated.
   * @param readsFirst whether nothing is written before the first answer has come, so that the first statements may be
   *   sent before the transaction has begun
   */
  async transaction<T>(work: (tx: OwnTransaction) => Promise<T>, readsFirst = false): Promise<T> {
    const { connections } = this;
    const bounds = await this.bounds(MAX_IDLE_MS);
    const began = performance.now();
    for (let attempt = 1; ; attempt += 1) {
      const tx = new OwnTransaction(this, await connections.connect());
      tx.isPipelined = this.isPipelined(tx.connection);
      try {
        const result = await this.attempt(tx, bounds, work, readsFirst);
        this.probe.reached('after COMMIT');
        return result;
      } catch (error) {
        if (this.mustRepeat(error)) continue;
        if (isReadOnly(error) && connections.mayHaveOthers(tx.connection, began, attempt)) continue;
        if (attempt >= MAX_ATTEMPTS || !isConflict(error)) throw error;
      }
    }
  }

  /** Runs a single statement at READ COMMITTED; see {@link transaction}. */
  atReadCommitted<T>(work: (tx?: OwnTransaction) => Promise<T>): Promise<T> {
    return this.transaction(work);
  }

  private async attempt<T>(
    tx: OwnTransaction,
    { begin, after }: TransactionBounds,
    work: (tx: OwnTransaction) => Promise<T>,
    readsFirst: boolean,
  ): Promise<T> {
    const { connection } = tx;
    const { statementTimeoutMs } = this.connections;
    const send = (text: string): Promise<Answer> =>
      withStatementTimeout(statementTimeoutMs, this.send(connection, text));
    const sendAll = async (texts: readonly string[]): Promise<void> => {
      for (const text of texts) await send(text);
    };
    let isEnded = false;
    try {
      tx.begun = sendAll(begin);
      // An error is not lost: each statement of the transaction awaits `begun`.
      if (readsFirst && tx.isPipelined) tx.begun.catch(() => undefined);
      else await tx.begun;
      const result = await work(tx);
      tx.isOver = true;
      await send('COMMIT');
      isEnded = true;
      return result;
    } catch (error) {
      tx.isOver = true;
      // ROLLBACK would queue behind a statement that is under way, be it COMMIT: the connection is destroyed below.
      if (tx.running === 0 && !(error instanceof PaymentStatementTimeoutError)) {
        isEnded = await send('ROLLBACK').then(
          () => !isReadOnly(error),
          () => false,
        );
      }
      throw error;
    } finally {
      // If the session's settings cannot be restored, the outcome of the transaction stays the same.
      if (isEnded && after !== undefined) {
        isEnded = await send(after).then(
          () => true,
          () => false,
        );
      }
      // A released connection would pass its open transaction on to the next caller.
      if (!isEnded) await this.connections.destroy(connection);
      this.connections.release(connection);
    }
  }

  /**
   * Locks those of the rows that nobody has locked and that still satisfy the condition; returns their ids in the given
   * order.
   * @param table the condition refers to its rows as `t`
   */
  async lockFree(
    tx: OwnTransaction,
    table: KeyedTable,
    ids: readonly string[],
    condition: Statement,
  ): Promise<string[]> {
    if (ids.length === 0) return [];
    const { byPrimaryKey, rowLockClause: locking, oneOf, text } = this.dialect;
    const key = sql`t.${keyOf(table)}`;
    const free = await tx.ids`
      SELECT ${text(key)} AS id FROM payment_acceptance.${rawSql(table)} t ${byPrimaryKey}
      WHERE ${key} ${oneOf(ids, table === 'delivery' ? 'bigint' : 'uuid')} AND ${condition} ${locking} SKIP LOCKED`;
    const locked = new Set(free);
    return ids.filter((id) => locked.has(id));
  }

  /** Deletes rows that `tx` has locked; returns their number. */
  delete(tx: OwnTransaction, table: 'callback', ids: readonly string[]): Promise<number> {
    const { inKeyOrder, oneOf } = this.dialect;
    return tx.change`
      DELETE FROM payment_acceptance.${rawSql(table)} WHERE id ${oneOf(ids, 'uuid')} ${inKeyOrder(ids.length)}`;
  }

  /**
   * Whether the error means that nothing was done, for a reason that will not recur, so that the work must be repeated.
   */
  mustRepeat(_error: unknown): boolean {
    return false;
  }

  /**
   * The bounds of a transaction that the server ends if it idles for this long. Otherwise, if an instance froze or lost
   * its machine, other instances would skip the rows that it had locked until TCP gives up the connection after hours.
   */
  protected abstract bounds(unattendedMs: number): Promise<TransactionBounds>;

  /** @throws UndestroyableConnectionError if the connection cannot be destroyed while a statement runs on it */
  abstract verifyDestroyable(connection: unknown): void;

  /** Whether the driver sends statements on the connection without waiting for the answers to earlier ones. */
  abstract isPipelined(connection: Connection): boolean;

  /** Whether a statement is under way on the connection, whoever sent it. */
  abstract isBusy(connection: Connection): boolean;

  abstract discard(connection: Connection): Promise<void>;

  abstract destroy(connection: Connection): Promise<void>;
}
