import type { EntityManager } from 'typeorm';
import { TimeoutError } from '../common/timeout.js';
import type { Database } from './database.js';
import { releaseLater } from './pool-connections.js';
import { HandlerIdleError, NoConnectionError } from './database.errors.js';
import { guardConnection } from './guarded-connection.js';
import type { HandlerTransactions, TransactionLimits } from './handler-transactions.js';
import type { PaymentTransactionsPool } from './payment-transactions.js';
import { freeConnectionsOf, poolSizeOf } from './pool.js';
import { Transaction, type TransactionOptions } from './transaction.js';

/**
 * A transaction whose connection can be destroyed from outside. A rollback would queue behind the running query.
 */
export abstract class DestroyableTransaction implements HandlerTransactions {
  readonly pool: PaymentTransactionsPool;

  constructor(private readonly database: Database) {
    const { dataSource } = database;
    this.pool = { size: poolSizeOf(dataSource), free: () => freeConnectionsOf(dataSource) };
  }

  /**
   * Verifies that this driver's connections can be destroyed.
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
   * Runs the work and commits, unless the signal aborts first: then the connection and its server process are ended, the
   * transaction is undone, and the work's manager can no longer be used.
   * @throws NoConnectionError if there was no connection, so that the work never began
   * @throws also if the work swallowed a failed statement: PostgreSQL answers such a COMMIT with a rollback
   */
  async run(limits: TransactionLimits, work: (manager: EntityManager) => Promise<void>): Promise<void> {
    try {
      await this.runOnce(limits, work);
    } catch (error) {
      // Only our own statements throw this, before the host's run.
      if (!this.database.hasToBeRepeated(error)) throw error;
      await this.runOnce(limits, work);
    }
  }

  private async runOnce(
    { signal, connectMs, connected, unattendedMs, finish }: TransactionLimits,
    work: (manager: EntityManager) => Promise<void>,
  ): Promise<void> {
    signal.throwIfAborted();
    const { dataSource } = this.database;
    const runner = dataSource.createQueryRunner();
    const transaction = new Transaction(dataSource, runner, (text) => this.database.send(runner, text));
    let connecting: Promise<unknown> | undefined;
    let connection: unknown;
    let destroyed: Promise<void> | undefined;
    let onAbort = (): void => undefined;
    let isOver = false;
    let waiting: NodeJS.Timeout | undefined;
    const ended = new Promise<never>((_resolve, reject) => {
      onAbort = () => {
        transaction.close();
        const reason = signal.reason as Error;
        if (connection === undefined) return reject(reason);
        reject(this.database.isBusy(connection) ? reason : new HandlerIdleError(reason));
        destroyed = this.database.destroy(runner, connection);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const late = (): void => reject(new TimeoutError(`The pool had none free within ${connectMs} ms.`));
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
      guardConnection(runner, () => isOver);
      connected?.();
      // The race is lost only together with the connection, so work that goes on can change nothing.
      const isBusy = (): boolean => this.database.isBusy(connection);
      const options = { level, isBusy, ...(finish && { finish }), ...this.database.endedAfter(unattendedMs) };
      await Promise.race([this.whole(transaction, connection, work, options), ended]);
    } finally {
      // After its release, the connection belongs to another caller.
      isOver = true;
      signal.removeEventListener('abort', onAbort);
      if (connection !== undefined) {
        // A statement that a handler has sent past its manager may be under way even now.
        if (!transaction.isOver || this.database.isBusy(connection))
          destroyed ??= this.database.destroy(runner, connection);
        await destroyed;
        await runner.release();
      } else if (connecting) releaseLater(runner, connecting);
    }
  }

  /** Runs the whole transaction. Must not commit if one of its statements has failed. */
  protected abstract whole(
    transaction: Transaction,
    connection: unknown,
    work: (manager: EntityManager) => Promise<void>,
    options: TransactionOptions,
  ): Promise<void>;
}
