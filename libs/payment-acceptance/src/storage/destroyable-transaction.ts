import type { EntityManager } from 'typeorm';
import { TimeoutError } from '../common/timeout.js';
import { releaseLater, type Database } from './database.js';
import { NoConnectionError } from './storage.errors.js';
import { Transaction, type TransactionOptions } from './transaction.js';

/** What ends a transaction from outside. */
export interface TransactionLimits {
  readonly signal: AbortSignal;
  /** How long a connection is waited for, in milliseconds. */
  readonly connectMs: number;
  /** Called when there is one, before anything is sent. */
  readonly connected?: () => void;
  /** How long it may stay without a statement before the server ends it, in milliseconds. */
  readonly unattendedMs: number;
}

/**
 * A transaction whose connection can be destroyed from outside. Rolling back would queue behind the query that is
 * running.
 */
export abstract class DestroyableTransaction {
  constructor(private readonly database: Database) {}

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
   * @throws NoConnectionError where none came, so that nothing of the work has begun
   * @throws also where the work swallowed the failure of a statement: PostgreSQL answers such a COMMIT with a rollback
   */
  async run(limits: TransactionLimits, work: (manager: EntityManager) => Promise<void>): Promise<void> {
    try {
      await this.runOnce(limits, work);
    } catch (error) {
      // Thrown by statements of ours only, before the host's.
      if (!this.database.hasToBeRepeated(error)) throw error;
      await this.runOnce(limits, work);
    }
  }

  private async runOnce(
    { signal, connectMs, connected, unattendedMs }: TransactionLimits,
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
    let waiting: NodeJS.Timeout | undefined;
    const ended = new Promise<never>((_resolve, reject) => {
      onAbort = () => {
        transaction.close();
        if (connection !== undefined) destroyed = this.database.destroy(runner, connection);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const late = (): void => reject(new TimeoutError(`The pool gave none within ${connectMs} ms.`));
      waiting = setTimeout(late, connectMs);
    });
    try {
      let level: TransactionOptions['level'];
      try {
        level = await Promise.race([this.database.isolationLevel(), ended]);
        connecting = runner.connect();
        connection = await Promise.race([connecting, ended]);
      } catch (error) {
        throw new NoConnectionError(error);
      } finally {
        clearTimeout(waiting);
      }
      connected?.();
      // The race is lost only together with the connection, so what goes on running can change nothing.
      const options = { level, ...this.database.endedAfter(unattendedMs) };
      await Promise.race([this.whole(transaction, connection, work, options), ended]);
    } finally {
      // Once released, the connection belongs to somebody else.
      signal.removeEventListener('abort', onAbort);
      if (connection !== undefined) {
        if (!transaction.isOver) destroyed ??= this.database.destroy(runner, connection);
        await destroyed;
        await runner.release();
      } else if (connecting) releaseLater(runner, connecting);
    }
  }

  /** The transaction from its beginning to its end, which is no COMMIT where a statement of it has failed. */
  protected abstract whole(
    transaction: Transaction,
    connection: unknown,
    work: (manager: EntityManager) => Promise<void>,
    options: TransactionOptions,
  ): Promise<void>;
}
