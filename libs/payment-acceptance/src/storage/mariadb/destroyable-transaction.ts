import { Injectable } from '@nestjs/common';
import type { EntityManager, QueryRunner } from 'typeorm';
import { DestroyableTransaction } from '../destroyable-transaction.js';
import { UndestroyableConnectionError } from '../storage.errors.js';
import type { MariaDatabase } from './maria.database.js';

/** The parts of a `mysql2` connection that are needed to end it at once. */
interface MysqlConnection {
  readonly threadId: number;
  readonly stream: {
    readonly closed: boolean;
    destroy(): void;
    once(event: 'close', listener: () => void): void;
  };
  on(event: 'error', listener: () => void): void;
}

@Injectable()
export class MariaDestroyableTransaction extends DestroyableTransaction {
  constructor(private readonly maria: MariaDatabase) {
    super(maria);
  }

  override async verify(): Promise<void> {
    const runner = this.maria.dataSource.createQueryRunner();
    try {
      connectionOf(await runner.connect());
    } finally {
      await runner.release();
    }
  }

  /**
   * A deadlock undoes the whole transaction, and what its work does after that would commit statement by statement. So the
   * connection commits nothing by itself while it lasts, and work that swallowed a failure is undone, as on PostgreSQL.
   */
  override async run(work: (manager: EntityManager) => Promise<void>, signal: AbortSignal): Promise<void> {
    const runner = this.maria.dataSource.createQueryRunner();
    let destroyed: Promise<void> | undefined;
    let onAbort = (): void => undefined;
    try {
      const connection = connectionOf(await runner.connect());
      const aborted = new Promise<never>((_resolve, reject) => {
        onAbort = () => {
          destroyed = this.destroyConnection(connection);
          reject(signal.reason as Error);
        };
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
      await Promise.race([whole(runner, work), aborted]);
    } finally {
      // Once released, the connection belongs to somebody else.
      signal.removeEventListener('abort', onAbort);
      await destroyed;
      await runner.release();
    }
  }

  /** Resolves when the pool has seen the connection close: released before, it would be handed to the next caller. */
  private async destroyConnection(connection: MysqlConnection): Promise<void> {
    const { stream, threadId } = connection;
    // The pool's own listener hears the first error only; nobody else would hear a second.
    connection.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => {
      if (stream.closed) resolve();
      else stream.once('close', resolve);
    });
    stream.destroy();
    // The server goes on with a running query, and keeps its locks, until it is told to end.
    const killed = this.maria.query(`KILL CONNECTION ${threadId}`, []).catch(() => undefined);
    await Promise.all([closed, killed]);
  }
}

function connectionOf(given: unknown): MysqlConnection {
  const connection = given as Partial<MysqlConnection>;
  if (typeof connection.stream?.destroy !== 'function' || typeof connection.threadId !== 'number') {
    throw new UndestroyableConnectionError();
  }
  return connection as MysqlConnection;
}

async function whole(runner: QueryRunner, work: (manager: EntityManager) => Promise<void>): Promise<void> {
  const failures: unknown[] = [];
  const query = runner.query.bind(runner) as (...given: unknown[]) => Promise<unknown>;
  runner.query = (async (...given: unknown[]) => {
    try {
      return await query(...given);
    } catch (error) {
      failures.push(error);
      throw error;
    }
  }) as typeof runner.query;
  await query('SET autocommit = 0');
  try {
    await runner.startTransaction('READ COMMITTED');
    await work(runner.manager);
    if (failures.length > 0)
      throw new Error('A statement of the transaction has failed, so nothing of it can be kept.');
    await runner.commitTransaction();
    await query('SET autocommit = 1');
  } catch (error) {
    // What fails here has lost its connection, and with it the transaction.
    await runner.rollbackTransaction().catch(() => undefined);
    await query('SET autocommit = 1').catch(() => undefined);
    throw error;
  }
}
