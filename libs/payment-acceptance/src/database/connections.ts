import { TimeoutError, withTimeout } from '../common/timeout.js';
import type { Connection, ConnectionSource } from './connection-source.js';
import { PaymentPoolExhaustedError, PaymentStatementTimeoutError } from './database.errors.js';
import type { OwnTransaction } from './own-transaction.js';
import { isConflict, isReadOnly } from './query-errors.js';
import { withStatementTimeout } from './statement-timeout.js';

/** The pool learns that a connection is closed only when it is released. */
export interface ConnectionCloser {
  discard(connection: Connection): Promise<void>;
  /** Closes the connection and ends its server process at once. */
  destroy(connection: Connection): Promise<void>;
}

/** How many times a statement or a transaction that conflicts with others is attempted. */
export const MAX_ATTEMPTS = 4;

/** The connections of a pool, as our statements use them: within time limits, and only if the server is writable. */
export class Connections {
  /**
   * Timeout of each statement, and of waiting for its connection before that, in milliseconds. A connection whose
   * statement exceeds it is closed, so that the pool has room for another.
   */
  statementTimeoutMs = Infinity;
  /** Connections in use, each with a mark of that use. */
  private readonly held = new Map<Connection, symbol>();
  /** When each connection was opened, unless that was before we listened. */
  private readonly openedAt = new WeakMap<Connection, number>();
  private readonly closed = new WeakSet<Connection>();

  constructor(
    private readonly source: ConnectionSource,
    private readonly closer: ConnectionCloser,
  ) {
    // Only a newly opened connection shows which server the address leads to now.
    source.onOpened((connection) => this.openedAt.set(connection, performance.now()));
    source.limitOpening(() => this.statementTimeoutMs);
  }

  /**
   * For the shutdown: limits all further statements to this timeout. When it has passed, connections that have been in
   * use since the call are destroyed, since the host's pool closes only once all of its connections are back.
   */
  shortenTimeout(timeoutMs: number): void {
    this.statementTimeoutMs = Math.min(this.statementTimeoutMs, timeoutMs);
    const before = [...this.held];
    const destroyOverdue = (): void => {
      const overdue = before.filter(([connection, use]) => this.held.get(connection) === use);
      // All at once, since destroying each may take a second. The callers see their statements fail.
      void Promise.allSettled(overdue.map(([connection]) => this.destroy(connection)));
    };
    setTimeout(destroyOverdue, timeoutMs).unref();
  }

  /**
   * Runs a statement within its time limit, on the connection of the transaction or else on a free one. If a read-only
   * server refuses it, nothing was done, and the connection is closed. Outside a transaction, the statement is then sent again, until a
   * connection opened since the first attempt is refused, too; and if it conflicts with others, since it was rolled
   * back whole.
   * @param timeoutMs the time limit, if longer than that of other statements
   * @throws PaymentStatementTimeoutError, after which the connection and its transaction are gone
   * @throws PaymentPoolExhaustedError
   */
  async run<T>(
    transaction: OwnTransaction | undefined,
    timeoutMs: number | undefined,
    statement: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    if (transaction) {
      if (transaction.isOver) throw new Error('The connection of this statement has been released.');
      transaction.running += 1;
      try {
        const answer = await this.runWithTimeout(transaction.connection, statement, timeoutMs);
        await transaction.begun;
        return answer;
      } finally {
        transaction.running -= 1;
      }
    }
    const began = performance.now();
    for (let attempt = 1; ; attempt += 1) {
      const connection = await this.connect();
      try {
        return await this.runWithTimeout(connection, statement, timeoutMs);
      } catch (error) {
        const isRepeated = isConflict(error)
          ? attempt < MAX_ATTEMPTS
          : isReadOnly(error) && this.mayHaveOthers(connection, began, attempt);
        if (!isRepeated) throw error;
      } finally {
        this.release(connection);
      }
    }
  }

  /** Whether other connections of the pool may lead to a writable server although this one does not. */
  mayHaveOthers(connection: Connection, began: number, attempt: number): boolean {
    return attempt <= this.source.size && (this.openedAt.get(connection) ?? -Infinity) < began;
  }

  /**
   * Waits for a connection of the pool, at most for the timeout of a statement: callers that hold all connections may
   * never release them.
   * @throws PaymentPoolExhaustedError
   */
  async connect(): Promise<Connection> {
    const { statementTimeoutMs, source } = this;
    const connecting = source.connect();
    let connection: Connection;
    try {
      connection = await (statementTimeoutMs === Infinity ? connecting : withTimeout(statementTimeoutMs, connecting));
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      // If the connection comes after all, nobody is waiting for it any more.
      connecting.then(
        (late) => source.release(late, false),
        () => undefined,
      );
      throw PaymentPoolExhaustedError.within(statementTimeoutMs, source.size);
    }
    this.held.set(connection, Symbol());
    return connection;
  }

  release(connection: Connection): void {
    this.held.delete(connection);
    this.source.release(connection, this.closed.has(connection));
  }

  async destroy(connection: Connection): Promise<void> {
    this.closed.add(connection);
    await this.closer.destroy(connection);
  }

  private async runWithTimeout<T>(
    connection: Connection,
    statement: (connection: Connection) => Promise<T>,
    timeoutMs = 0,
  ): Promise<T> {
    try {
      return await withStatementTimeout(Math.max(this.statementTimeoutMs, timeoutMs), statement(connection));
    } catch (error) {
      if (error instanceof PaymentStatementTimeoutError) await this.destroy(connection);
      else if (isReadOnly(error)) {
        this.closed.add(connection);
        await this.closer.discard(connection);
      }
      throw error;
    }
  }
}
