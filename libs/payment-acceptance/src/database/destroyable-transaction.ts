import type { DataSource, EntityManager, QueryRunner } from 'typeorm';
import { TimeoutError } from '../common/timeout.js';
import type { Database, Within } from './database.js';
import { HandlerIdleError, NoConnectionError } from './database.errors.js';
import { guardConnection } from './guarded-connection.js';
import type { HandlerTransactions, TransactionLimits } from './handler-transactions.js';
import { OwnTransaction } from './own-transaction.js';
import type { PaymentTransactionsPool } from './payment-transactions.js';
import { Transaction, type TransactionOptions } from './transaction.js';
import { hostPool } from './pool.js';

/**
 * A transaction whose connection can be destroyed from outside. A rollback would queue behind the running query.
 */
export abstract class DestroyableTransaction implements HandlerTransactions {
  readonly pool: PaymentTransactionsPool;

  constructor(
    private readonly database: Database,
    protected readonly dataSource: DataSource,
  ) {
    this.pool = hostPool(dataSource, () => database.statementTimeoutMs);
  }

  /**
   * Verifies that this driver's connections can be destroyed.
   * @throws UndestroyableConnectionError
   */
  async verify(): Promise<void> {
    const runner = this.dataSource.createQueryRunner();
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
  async run(limits: TransactionLimits, work: (within: Within) => Promise<void>): Promise<void> {
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
    work: (within: Within) => Promise<void>,
  ): Promise<void> {
    signal.throwIfAborted();
    const { dataSource } = this;
    const runner = dataSource.createQueryRunner();
    const transaction = new Transaction(dataSource, runner, (text) => this.database.send(connection as object, text));
    let connecting: Promise<unknown> | undefined;
    let connection: unknown;
    let destroyed: Promise<void> | undefined;
    let onAbort = (): void => undefined;
    let isOver = false;
    let within: OwnTransaction | undefined;
    let waiting: NodeJS.Timeout | undefined;
    const ended = new Promise<never>((_resolve, reject) => {
      onAbort = () => {
        transaction.close();
        const reason = signal.reason as Error;
        if (connection === undefined) return reject(reason);
        reject(this.database.isBusy(connection as object) ? reason : new HandlerIdleError(reason));
        destroyed = this.destroy(runner, connection as object);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const late = (): void => reject(new TimeoutError(`The pool had no free connection within ${connectMs} ms.`));
      waiting = setTimeout(late, connectMs);
    });
    try {
      let level: TransactionOptions['level'];
      try {
        level = await Promise.race([this.isolationLevel(), ended]);
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
      const isBusy = (): boolean => this.database.isBusy(connection as object);
      within = new OwnTransaction(connection as object, runner.manager);
      const own = within;
      const options = { level, isBusy, finish: async () => finish?.(own), ...this.endedAfter(unattendedMs) };
      await Promise.race([this.whole(transaction, connection, () => work(own), options), ended]);
    } finally {
      // After its release, the connection belongs to another caller.
      isOver = true;
      if (within) within.isOver = true;
      signal.removeEventListener('abort', onAbort);
      if (connection !== undefined) {
        // A statement that a handler has sent past its manager may be under way even now.
        if (!transaction.isOver || this.database.isBusy(connection as object))
          destroyed ??= this.destroy(runner, connection as object);
        await destroyed;
        await runner.release();
      } else if (connecting) {
        // If it comes after all, nobody waits for it any more.
        connecting.then(
          () => runner.release(),
          () => undefined,
        );
      }
    }
  }

  private async destroy(runner: QueryRunner, connection: object): Promise<void> {
    await this.database.destroy(connection);
    await this.remove(runner);
  }

  /** READ COMMITTED if it must be set, which costs a statement; `undefined` if it is the default. */
  protected abstract isolationLevel(): Promise<'READ COMMITTED' | undefined>;

  /** Lets the server end a transaction that idles for this long. */
  protected abstract endedAfter(unattendedMs: number): Pick<TransactionOptions, 'before' | 'start' | 'after'>;

  /** Releases the runner of a closed connection so that the pool does not keep it. */
  protected abstract remove(runner: QueryRunner): Promise<void>;

  /** Runs the whole transaction. Must not commit if one of its statements has failed. */
  protected abstract whole(
    transaction: Transaction,
    connection: unknown,
    work: (manager: EntityManager) => Promise<void>,
    options: TransactionOptions,
  ): Promise<void>;
}
