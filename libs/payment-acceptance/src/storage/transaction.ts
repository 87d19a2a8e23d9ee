import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';
import type { DataSource, EntityManager, EntitySubscriberInterface, QueryRunner } from 'typeorm';
import { isReadOnly } from './query-errors.js';
import { answerWithin } from './statement-limit.js';

type Call<T> = (...given: unknown[]) => Promise<T>;

interface Closing {
  once(event: 'close', listener: () => void): void;
}

export interface TransactionOptions {
  /** Where another level than the connection's own has to be asked for. */
  level: 'READ COMMITTED' | undefined;
  /** Throws where the transaction must not be committed although its work has returned. */
  check?: () => void;
  /** Sent in the place of START TRANSACTION, which it begins with. */
  start?: string;
  /** Statements for what the connection is to do otherwise while the transaction lasts. */
  before?: string;
  after?: string;
  /** How long each of these, START TRANSACTION, COMMIT and ROLLBACK may take, in milliseconds. Any time unless given. */
  limitMs?: number;
}

/**
 * The transaction that is being committed or rolled back, for what the host's subscribers do on that occasion. Used only
 * where there are such: on Node.js 20 and 22 its first use makes every promise of the process dearer.
 */
const ending = new AsyncLocalStorage<Transaction>();

/** What a transaction is refused for whose work swallowed the failure of a statement. */
const STATEMENT_FAILED = 'A statement of the transaction has failed, so nothing of it can be kept.';

/** For `check`: the transaction must not be committed where one of its statements has failed. */
export function refuseFailure(hasFailed: boolean): void {
  if (hasFailed) throw new Error(STATEMENT_FAILED);
}

/** The hooks that may send statements while a transaction ends. */
const HOOKS = [
  'beforeQuery',
  'afterQuery',
  'beforeTransactionCommit',
  'afterTransactionCommit',
  'beforeTransactionRollback',
  'afterTransactionRollback',
] as const satisfies (keyof EntitySubscriberInterface)[];

/** How a transaction gets its connection, and what becomes of that. */
export interface TransactionConnection {
  /** Unless given, the pool is waited for. A runner that got none is not released. */
  readonly connect?: (runner: QueryRunner) => Promise<unknown>;
  /** Unless given, it goes back to the pool. */
  readonly release?: (runner: QueryRunner) => Promise<void>;
  /** Called before it is released where the transaction may still be open on it. */
  readonly destroy: (runner: QueryRunner, connection: unknown) => Promise<void>;
}

/**
 * Runs a transaction on a connection of its own. TypeORM's way would release a connection that could not be rolled back, for
 * the next callers to write into it; this one is destroyed.
 */
export async function transact<T>(
  dataSource: DataSource,
  run: (transaction: Transaction, connection: unknown) => Promise<T>,
  { connect, release, destroy }: TransactionConnection,
): Promise<T> {
  const runner = dataSource.createQueryRunner();
  const connection: unknown = await (connect ? connect(runner) : runner.connect());
  const transaction = new Transaction(dataSource, runner);
  try {
    return await run(transaction, connection);
  } finally {
    if (!transaction.isOver) await destroy(runner, connection);
    await (release ? release(runner) : runner.release());
  }
}

/**
 * One transaction on a query runner that is used for nothing else. What its work sends after it has returned or thrown is
 * refused: behind COMMIT or ROLLBACK each statement would commit by itself.
 */
export class Transaction {
  /** Whether nothing of it is left on the connection. Where it is not, the connection must never reach the pool. */
  isOver = false;
  /** Whether a statement has failed, be it that the work went on. */
  hasFailed = false;
  private closed = false;
  private refused = false;
  /** Whether the server takes no writes, so that its connection is of no use to anybody. */
  private isReadOnly = false;
  /** What goes out for the START TRANSACTION that is being sent. */
  private first: string | undefined;
  /** The statement that is the only one to pass after the end of the work. */
  private last: string | undefined;
  private readonly running = new Set<Promise<unknown>>();

  constructor(
    private readonly dataSource: DataSource,
    private readonly runner: QueryRunner,
  ) {
    const query = runner.query.bind(runner) as Call<unknown>;
    const stream = runner.stream.bind(runner) as unknown as Call<Closing>;
    const streaming: Call<Closing> = async (...given) => {
      const opened = await stream(...given);
      // Until it is closed, the driver still sends it rows, and everything else waits.
      void this.track(new Promise<void>((resolve) => opened.once('close', resolve)));
      return opened;
    };
    runner.query = ((...given: unknown[]) => this.pass(query, this.begun(given))) as typeof runner.query;
    runner.stream = ((...given: unknown[]) => this.pass(streaming, given)) as unknown as typeof runner.stream;
  }

  /** Commits what the work has done, or undoes it and throws. */
  async run<T>(work: (manager: EntityManager) => Promise<T>, options: TransactionOptions): Promise<T> {
    const { level, check, before, start, limitMs = Infinity } = options;
    try {
      if (before !== undefined) await answerWithin(limitMs, this.runner.query(before));
      this.first = start;
      await answerWithin(limitMs, this.runner.startTransaction(level));
      this.first = undefined;
      const result = await work(this.runner.manager);
      await this.settle();
      check?.();
      await this.end('COMMIT', options);
      return result;
    } catch (error) {
      this.close();
      // ROLLBACK would wait for what is still running, and undo a nested transaction alone. Where it fails, the connection
      // may still be inside the transaction. Either way it is not over.
      if (this.running.size === 0 && !this.isNested()) {
        await this.end('ROLLBACK', options).catch(() => undefined);
      }
      throw error;
    }
  }

  /** From now on nothing is sent but our own COMMIT or ROLLBACK. */
  close(): void {
    this.closed = true;
  }

  /** Work may return before a statement of it has ended, but not before its last one has begun. */
  private async settle(): Promise<void> {
    this.close();
    if (this.running.size > 0) {
      await Promise.allSettled(this.running);
      // What waited for these statements goes on before this does.
      await setImmediate();
    }
    if (this.refused || this.isNested()) {
      throw new Error('The work of the transaction went on after it had returned, so nothing of it can be kept.');
    }
  }

  private async end(
    statement: 'COMMIT' | 'ROLLBACK',
    { after, limitMs = Infinity }: TransactionOptions,
  ): Promise<void> {
    const end = () => (statement === 'COMMIT' ? this.runner.commitTransaction() : this.runner.rollbackTransaction());
    await answerWithin(limitMs, this.sendLast(statement, end));
    // Failing to prepare the connection for others does not change what has become of the transaction.
    const restored =
      after === undefined ||
      (await answerWithin(
        limitMs,
        this.sendLast(after, () => this.runner.query(after)),
      ).then(
        () => true,
        () => false,
      ));
    this.isOver = restored && this.running.size === 0 && !this.isReadOnly;
  }

  /** Lets one statement pass, with those of the host's subscribers to it. */
  private sendLast(statement: string, send: () => Promise<unknown>): Promise<unknown> {
    const hooked = this.dataSource.subscribers.some((subscriber) => HOOKS.some((hook) => hook in subscriber));
    this.last = hooked ? undefined : statement;
    return hooked ? ending.run(this, send) : send();
  }

  private isNested(): boolean {
    return (this.runner as unknown as { readonly transactionDepth: number }).transactionDepth > 1;
  }

  private async pass<T>(send: Call<T>, given: unknown[]): Promise<T> {
    if (this.closed && !this.mayPass(given[0])) {
      this.refused = true;
      throw new Error(
        'The transaction of this manager has ended, so the statement was refused. Await all that a handler does before ' +
          'it returns or throws.',
      );
    }
    try {
      return await this.track(send(...given));
    } catch (error) {
      this.hasFailed = true;
      this.isReadOnly ||= isReadOnly(error);
      throw error;
    }
  }

  private begun(given: unknown[]): unknown[] {
    return this.first !== undefined && given[0] === 'START TRANSACTION' ? [this.first, ...given.slice(1)] : given;
  }

  private mayPass(statement: unknown): boolean {
    if (this.last === undefined) return !this.isOver && ending.getStore() === this;
    const isLast = statement === this.last;
    if (isLast) this.last = '';
    return isLast;
  }

  /** Deleted before anybody who waits for it goes on. */
  private track<T>(statement: Promise<T>): Promise<T> {
    const tracked = statement.finally(() => this.running.delete(tracked));
    this.running.add(tracked);
    return tracked;
  }
}
