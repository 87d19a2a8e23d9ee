import { Injectable } from '@nestjs/common';
import type { EntityManager, QueryRunner } from 'typeorm';
import type { Database } from './database.js';
import { PreparedStatementsUnavailableError } from './prepared-statements.js';
import { pgClientOf, type OnAnswer } from './pg-connection.js';
import { Transaction, type TransactionOptions } from './transaction.js';

/** What ends a transaction from outside. */
export interface TransactionLimits {
  readonly signal: AbortSignal;
  /** How long it may stay without a statement before the server ends it, in milliseconds. */
  readonly unattendedMs: number;
}

/** What a transaction is refused for whose work swallowed the failure of a statement. */
export const STATEMENT_FAILED = 'A statement of the transaction has failed, so nothing of it can be kept.';

/**
 * A transaction whose connection can be destroyed from outside. Rolling back would queue behind the query that is
 * running.
 */
@Injectable()
export class DestroyableTransaction {
  constructor(protected readonly database: Database) {}

  /**
   * Makes sure that this driver's connections can be destroyed.
   * @throws UndestroyableConnectionError
   */
  async verify(): Promise<void> {
    const runner = this.database.dataSource.createQueryRunner();
    try {
      this.database.verifyDestroyable(await runner.connect());
    } finally {
      await runner.release();
    }
  }

  /**
   * Runs the work and commits, unless the signal aborts first: then the connection and its server process are ended,
   * everything the transaction did is undone, and the work's manager is of no use any more.
   * @throws also where the work swallowed the failure of a statement: PostgreSQL answers such a COMMIT with a rollback
   */
  async run(limits: TransactionLimits, work: (manager: EntityManager) => Promise<void>): Promise<void> {
    try {
      await this.runOnce(limits, work);
    } catch (error) {
      // Thrown by statements of ours only; nothing was done.
      if (!(error instanceof PreparedStatementsUnavailableError)) throw error;
      await this.runOnce(limits, work);
    }
  }

  private async runOnce(
    { signal, unattendedMs }: TransactionLimits,
    work: (manager: EntityManager) => Promise<void>,
  ): Promise<void> {
    signal.throwIfAborted();
    const { dataSource } = this.database;
    const runner = dataSource.createQueryRunner();
    const transaction = new Transaction(dataSource, runner);
    let connecting: Promise<unknown> | undefined;
    let connection: unknown;
    let destroyed: Promise<void> | undefined;
    let onAbort = (): void => undefined;
    const aborted = new Promise<never>((_resolve, reject) => {
      onAbort = () => {
        transaction.close();
        if (connection !== undefined) destroyed = this.database.destroy(runner, connection);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      const level = await Promise.race([this.database.isolationLevel(), aborted]);
      connecting = runner.connect();
      connection = await Promise.race([connecting, aborted]);
      // The race is lost only together with the connection, so what goes on running can change nothing.
      const options = { level, ...this.database.endedAfter(unattendedMs) };
      await Promise.race([this.whole(transaction, connection, work, options), aborted]);
    } finally {
      // Once released, the connection belongs to somebody else.
      signal.removeEventListener('abort', onAbort);
      if (connection === undefined) leave(runner, connecting);
      else {
        if (!transaction.isOver) destroyed ??= this.database.destroy(runner, connection);
        await destroyed;
        await runner.release();
      }
    }
  }

  protected async whole(
    transaction: Transaction,
    connection: unknown,
    work: (manager: EntityManager) => Promise<void>,
    options: TransactionOptions,
  ): Promise<void> {
    const { connection: answers } = pgClientOf(connection);
    let status = '';
    const onReady: OnAnswer = (message) => (status = message.status ?? '');
    const onError: OnAnswer = () => (status = 'E');
    const check = (): void => {
      if (status === 'E') throw new Error(STATEMENT_FAILED);
    };
    answers.on('readyForQuery', onReady);
    answers.on('errorMessage', onError);
    try {
      await transaction.run(work, { ...options, check });
    } finally {
      answers.off('readyForQuery', onReady);
      answers.off('errorMessage', onError);
    }
  }
}

/** Nobody waits any more for a connection of the pool: should it come after all, it goes back. */
function leave(runner: QueryRunner, connecting: Promise<unknown> | undefined): void {
  connecting?.then(
    () => runner.release(),
    () => undefined,
  );
}
