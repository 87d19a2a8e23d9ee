import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { TimeoutError, withTimeout } from '../common/timeout.js';
import { connectionOf } from './guarded-connection.js';
import { HeldConnections } from './held-connections.js';
import { poolSizeOf } from './pool.js';
import { isReadOnly } from './query-errors.js';
import { answerWithin } from './statement-limit.js';
import { PaymentPoolExhaustedError, PaymentStatementTimeoutError } from './database.errors.js';

/** How a database closes a connection. Both resolve once the pool knows; the runner must still be released. */
export interface ConnectionCloser {
  /** Closes the connection. */
  discard(runner: QueryRunner, connection: unknown): Promise<void>;
  /** Closes the connection and ends its server process at once. */
  destroy(runner: QueryRunner, connection: unknown): Promise<void>;
}

/** The connections of the host's pool, as our statements use them: within time limits, and only if the server is writable. */
export class PoolConnections {
  /** Timeout of a statement, and before it of waiting for the pool, in milliseconds. */
  statementMs = Infinity;
  private readonly poolSize: number;
  private readonly held: HeldConnections;
  /** When connections were opened, as far as we have seen it. */
  private readonly openedAt = new WeakMap<object, number>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly closer: ConnectionCloser,
  ) {
    this.poolSize = poolSizeOf(dataSource);
    this.held = new HeldConnections(this.poolSize);
  }

  /** See `Database.hurry`. */
  hurry(limitMs: number): void {
    this.statementMs = Math.min(this.statementMs, limitMs);
    const overdue = this.held.hurry(limitMs);
    const end = async (runner: QueryRunner): Promise<void> => this.closer.destroy(runner, await runner.connect());
    // All at once, since each may take a second. Their callers see their statements fail.
    setTimeout(() => void Promise.allSettled(overdue().map(end)), limitMs).unref();
  }

  /** Call it for the pool's event: only a new connection shows which server is there now. */
  opened(connection: object): void {
    this.openedAt.set(connection, performance.now());
  }

  /**
   * Runs a statement on the manager's connection or on one of its own, within its time limit. A statement refused by a
   * read-only server has done nothing, and its connection is closed, so it is sent again, until a new connection shows the
   * current state of the server.
   * @param limitMs if it may take longer than other statements
   * @throws PaymentStatementTimeoutError, after which the connection and its transaction are gone
   * @throws PaymentPoolExhaustedError
   */
  async run<T>(
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

  /** Whether other connections of the pool may lead to a writable server although this one does not. */
  mayHaveOthers(connection: object, began: number, attempt: number): boolean {
    return attempt <= this.poolSize && (this.openedAt.get(connection) ?? -Infinity) < began;
  }

  /**
   * Waits for a connection of the pool, up to the timeout of a statement: whoever holds all of them may hold them for ever.
   * A runner without a connection needs no release.
   * @throws PaymentPoolExhaustedError
   */
  async connect(runner: QueryRunner, limitMs?: number): Promise<object> {
    const { statementMs, held } = this;
    held.check();
    const connecting = runner.connect() as Promise<object>;
    let connection: object;
    try {
      connection = await (statementMs === Infinity ? connecting : withTimeout(statementMs, connecting));
    } catch (error) {
      if (!(error instanceof TimeoutError)) throw error;
      releaseLater(runner, connecting);
      throw PaymentPoolExhaustedError.within(statementMs);
    }
    try {
      // Again, since other statements may have become overdue during the wait.
      held.check();
    } catch (error) {
      await runner.release();
      throw error;
    }
    held.take(runner, limitMs === undefined ? statementMs : Math.max(limitMs, statementMs));
    return connection;
  }

  release(runner: QueryRunner): Promise<void> {
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
      if (error instanceof PaymentStatementTimeoutError) await this.closer.destroy(runner, await connectionOf(runner));
      else if (isReadOnly(error)) await this.closer.discard(runner, await connectionOf(runner));
      throw error;
    }
  }
}

/** Releases a connection that is no longer awaited, if it comes after all. */
export function releaseLater(runner: QueryRunner, connecting: Promise<unknown>): void {
  connecting.then(
    () => runner.release(),
    () => undefined,
  );
}
