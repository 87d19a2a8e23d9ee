import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import { statementRefused } from './database.errors.js';
import { guardConnection } from './guarded-connection.js';
import { isReadOnly } from './query-errors.js';
import { withStatementTimeout } from './statement-timeout.js';

type Call<T> = (...args: unknown[]) => Promise<T>;

interface ClosableStream {
  once(event: 'close', listener: () => void): void;
}

export interface TransactionOptions {
  /** Isolation level, if it differs from the connection's own. */
  level: 'READ COMMITTED' | undefined;
  /** Called after the work has returned; throws if the transaction must not be committed. */
  check?: () => void;
  /** Whether a statement is under way that the work has sent past its manager. */
  isBusy?: () => boolean;
  /** Statements that change the session's settings for the transaction, and change them back. */
  before?: string;
  after?: string;
  /** Timeout of each of these, and of START TRANSACTION, COMMIT and ROLLBACK, in milliseconds. Default none. */
  timeoutMs?: number;
}

/**
 * The transaction that is being committed or rolled back, so that statements of the host's subscribers may pass. Used
 * only if there are subscribers: on Node.js 20 and 22 its first use slows down every promise of the process.
 */
const ending = new AsyncLocalStorage<Transaction>();

export const STATEMENT_FAILED = 'A statement of the transaction has failed, so it cannot be committed.';

/** The statement with which TypeORM sets the isolation level, verbatim: it is recognized by its text. */
const isolation = (level: string): string => `SET TRANSACTION ISOLATION LEVEL ${level}`;

/** For `check`: a transaction must not commit if its work swallowed a failed statement. */
export function refuseFailure(hasFailed: boolean): void {
  if (hasFailed) throw new Error(STATEMENT_FAILED);
}

/** Subscriber hooks that may send statements while a transaction ends. */
const HOOKS = [
  'beforeQuery',
  'afterQuery',
  'beforeTransactionCommit',
  'afterTransactionCommit',
  'beforeTransactionRollback',
  'afterTransactionRollback',
] as const satisfies (keyof EntitySubscriberInterface)[];

/**
 * Runs a transaction on its own connection. If the rollback fails, TypeORM would release the connection, and the next
 * caller would write into the open transaction; here the connection is destroyed first.
 */
export async function transact<T>(
  dataSource: DataSource,
  run: (transaction: Transaction, connection: unknown) => Promise<T>,
  destroy: (runner: QueryRunner, connection: unknown) => Promise<void>,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  const connection: unknown = await runner.connect();
  const transaction = new Transaction(dataSource, runner);
  let isOver = false;
  guardConnection(dataSource, runner, () => isOver);
  try {
    return await run(transaction, connection);
  } finally {
    isOver = true;
    if (!transaction.isOver) await destroy(runner, connection);
    await runner.release();
  }
}

/**
 * One transaction on a dedicated query runner. Statements sent after the work has returned or thrown are refused: after
 * COMMIT or ROLLBACK each of them would commit on its own.
 */
export class Transaction {
  /** Whether the transaction has provably ended. If not, the connection must never return to the pool. */
  isOver = false;
  /** Whether a statement has failed, even if the work went on. */
  hasFailed = false;
  private closed = false;
  private refused = false;
  private isReadOnly = false;
  /** Statements by which TypeORM is about to begin or end the transaction. They pass even after the work has ended. */
  private readonly boundaries = new Set<unknown>();
  private readonly running = new Set<Promise<unknown>>();

  /** @param send sends our own statements on the runner's connection. Default: the runner's `query` */
  constructor(
    private readonly dataSource: DataSource,
    private readonly runner: QueryRunner,
    private readonly send: (text: string) => Promise<unknown> = runner.query.bind(runner),
  ) {
    const query = runner.query.bind(runner) as Call<unknown>;
    const stream = runner.stream.bind(runner) as unknown as Call<ClosableStream>;
    const streaming: Call<ClosableStream> = async (...args) => {
      const opened = await stream(...args);
      // A stream occupies the connection until it closes.
      void this.track(new Promise<void>((resolve) => opened.once('close', resolve)));
      return opened;
    };
    runner.query = ((...args: unknown[]) => {
      return this.boundaries.delete(args[0]) ? this.sendOwn(args[0] as string) : this.forward(query, args);
    }) as typeof runner.query;
    runner.stream = ((...args: unknown[]) => this.forward(streaming, args)) as unknown as typeof runner.stream;
  }

  async run<T>(work: (manager: EntityManager) => Promise<T>, options: TransactionOptions): Promise<T> {
    const { level, check, isBusy, before, timeoutMs = Infinity } = options;
    try {
      if (before !== undefined) await withStatementTimeout(timeoutMs, this.sendOwn(before));
      this.boundaries.add('START TRANSACTION');
      if (level !== undefined) this.boundaries.add(isolation(level));
      await withStatementTimeout(timeoutMs, this.runner.startTransaction(level));
      this.boundaries.clear();
      const result = await work(this.runner.manager);
      await this.drain();
      check?.();
      await this.end('COMMIT', options);
      return result;
    } catch (error) {
      this.close();
      // ROLLBACK would queue behind a running statement, and within a nested transaction it would undo only that one.
      // In these cases, and if ROLLBACK fails, the transaction is not over.
      if (this.running.size === 0 && !this.isNested() && !isBusy?.()) {
        await this.end('ROLLBACK', options).catch(() => undefined);
      }
      throw error;
    }
  }

  /** From now on only our own COMMIT or ROLLBACK may pass. */
  private close(): void {
    this.closed = true;
  }

  /** The work may return before its statements have ended, but it must not send further ones. */
  async drain(): Promise<void> {
    this.close();
    if (this.running.size > 0) {
      await Promise.allSettled(this.running);
      // Lets code that awaited these statements run first.
      await setImmediate();
    }
    if (this.refused || this.isNested()) {
      throw new Error('The work of the transaction continued after it returned, so it cannot be committed.');
    }
  }

  private async end(
    statement: 'COMMIT' | 'ROLLBACK',
    { after, isBusy, timeoutMs = Infinity }: TransactionOptions,
  ): Promise<void> {
    const end = () => (statement === 'COMMIT' ? this.runner.commitTransaction() : this.runner.rollbackTransaction());
    this.boundaries.add(statement);
    await withStatementTimeout(timeoutMs, this.withHooks(end));
    // What is under way now is not ours, and the settings would wait behind it.
    if (isBusy?.()) return;
    // If the session's settings cannot be restored, the outcome of the transaction stays the same.
    const restored =
      after === undefined ||
      (await withStatementTimeout(
        timeoutMs,
        this.withHooks(() => this.sendOwn(after)),
      ).then(
        () => true,
        () => false,
      ));
    this.isOver = restored && this.running.size === 0 && !this.isReadOnly;
  }

  /** Lets the statements pass that the host's subscribers send because of ours. */
  private withHooks(send: () => Promise<unknown>): Promise<unknown> {
    const hooked = this.dataSource.subscribers.some((subscriber) => HOOKS.some((hook) => hook in subscriber));
    return hooked ? ending.run(this, send) : send();
  }

  private isNested(): boolean {
    return (this.runner as unknown as { readonly transactionDepth: number }).transactionDepth > 1;
  }

  private sendOwn(text: string): Promise<unknown> {
    return this.observe(this.send(text));
  }

  private async forward<T>(send: Call<T>, args: unknown[]): Promise<T> {
    if (this.closed && (this.isOver || ending.getStore() !== this)) {
      this.refused = true;
      throw statementRefused();
    }
    return this.observe(send(...args));
  }

  private async observe<T>(statement: Promise<T>): Promise<T> {
    try {
      return await this.track(statement);
    } catch (error) {
      this.hasFailed = true;
      this.isReadOnly ||= isReadOnly(error);
      throw error;
    }
  }

  /** Counts the statement as running until it settles: before any code that awaits it continues. */
  private track<T>(statement: Promise<T>): Promise<T> {
    const tracked = statement.finally(() => this.running.delete(tracked));
    this.running.add(tracked);
    return tracked;
  }
}
