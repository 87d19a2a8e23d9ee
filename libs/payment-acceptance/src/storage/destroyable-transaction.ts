import { Injectable } from '@nestjs/common';
import type { EntityManager, QueryRunner } from 'typeorm';
import { Database } from './database.js';
import { UndestroyableConnectionError } from './storage.errors.js';

/** The parts of `pg`'s client that are needed to end its connection at once, and to know what has become of a transaction. */
interface PgClient {
  readonly processID: number;
  readonly connection: PgConnection;
}

interface PgConnection {
  readonly stream: Stream;
  on(event: 'readyForQuery' | 'errorMessage', listener: OnAnswer): void;
  off(event: 'readyForQuery' | 'errorMessage', listener: OnAnswer): void;
}

/** Told after each statement; status `E` is a transaction that a statement's failure has ended. An error comes before it. */
type OnAnswer = (message: { readonly status?: string }) => void;

interface Stream {
  readonly closed: boolean;
  destroy(): void;
  once(event: 'close', listener: () => void): void;
}

/**
 * A transaction whose connection can be destroyed from outside. Rolling back would queue behind the query that is
 * running; the next query of the same work could then commit on its own.
 */
@Injectable()
export class DestroyableTransaction {
  constructor(private readonly database: Database) {}

  /**
   * Makes sure that this driver's connections can be destroyed.
   * @throws UndestroyableConnectionError
   */
  async verify(): Promise<void> {
    const runner = this.database.dataSource.createQueryRunner();
    try {
      clientOf(await runner.connect());
    } finally {
      await runner.release();
    }
  }

  /**
   * Runs the work and commits, unless the signal aborts first: then the connection and its server process are ended,
   * everything the transaction did is undone, and the work's manager is of no use any more.
   * @throws also where the work swallowed the failure of a statement: PostgreSQL answers such a COMMIT with a rollback
   */
  async run(work: (manager: EntityManager) => Promise<void>, signal: AbortSignal): Promise<void> {
    const level = await this.database.isolationLevel();
    const runner = this.database.dataSource.createQueryRunner();
    let destroyed: Promise<void> | undefined;
    let onAbort = (): void => undefined;
    let connection: PgConnection | undefined;
    let status = '';
    const onReady: OnAnswer = (message) => (status = message.status ?? '');
    const onError: OnAnswer = () => (status = 'E');
    try {
      const client = clientOf(await runner.connect());
      connection = client.connection;
      connection.on('readyForQuery', onReady);
      connection.on('errorMessage', onError);
      const checked = async (manager: EntityManager): Promise<void> => {
        await work(manager);
        if (status === 'E') throw new Error('A statement of the transaction has failed, so nothing of it can be kept.');
      };
      const aborted = new Promise<never>((_resolve, reject) => {
        onAbort = () => {
          destroyed = this.destroy(client);
          reject(signal.reason as Error);
        };
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
      // The race is lost only together with the connection, so what goes on running can change nothing.
      await Promise.race([commitAfter(runner, level, checked), aborted]);
    } finally {
      // Once released, the connection belongs to somebody else.
      signal.removeEventListener('abort', onAbort);
      connection?.off('readyForQuery', onReady);
      connection?.off('errorMessage', onError);
      await destroyed;
      await runner.release();
    }
  }

  /** Resolves when the pool has seen the connection close: released before, it would be handed to the next caller. */
  private async destroy({ connection: { stream }, processID }: PgClient): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      if (stream.closed) resolve();
      else stream.once('close', resolve);
    });
    stream.destroy();
    // A closed socket does not end a query that is running on the server, nor release its locks. Where ending it is not
    // permitted, recording the failure waits for those locks, and nothing is wrong but the delay.
    const terminated = this.database.query(`SELECT pg_terminate_backend($1::int)`, [processID]).catch(() => undefined);
    await Promise.all([closed, terminated]);
  }
}

function clientOf(connection: unknown): PgClient {
  const client = connection as Partial<PgClient>;
  if (typeof client.connection?.stream.destroy !== 'function' || typeof client.processID !== 'number') {
    throw new UndestroyableConnectionError();
  }
  return client as PgClient;
}

async function commitAfter(
  runner: QueryRunner,
  level: 'READ COMMITTED' | undefined,
  work: (manager: EntityManager) => Promise<void>,
): Promise<void> {
  await runner.startTransaction(level);
  try {
    await work(runner.manager);
    await runner.commitTransaction();
  } catch (error) {
    // A rollback that fails has lost its connection, and with it the transaction.
    await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  }
}
