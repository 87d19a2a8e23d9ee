import { Injectable } from '@nestjs/common';
import type { EntityManager, QueryRunner } from 'typeorm';
import { Database } from './database.js';
import { UndestroyableConnectionError } from './storage.errors.js';

/** The parts of `pg`'s client that are needed to end its connection at once. */
interface PgClient {
  readonly processID: number;
  readonly connection: { readonly stream: Stream };
}

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
   */
  async run(work: (manager: EntityManager) => Promise<void>, signal: AbortSignal): Promise<void> {
    const runner = this.database.dataSource.createQueryRunner();
    let destroyed: Promise<void> | undefined;
    let onAbort = (): void => undefined;
    try {
      const client = clientOf(await runner.connect());
      const aborted = new Promise<never>((_resolve, reject) => {
        onAbort = () => {
          destroyed = this.destroy(client);
          reject(signal.reason as Error);
        };
        if (signal.aborted) onAbort();
        else signal.addEventListener('abort', onAbort, { once: true });
      });
      // The race is lost only together with the connection, so what goes on running can change nothing.
      await Promise.race([commitAfter(runner, work), aborted]);
    } finally {
      // Once released, the connection belongs to somebody else.
      signal.removeEventListener('abort', onAbort);
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

async function commitAfter(runner: QueryRunner, work: (manager: EntityManager) => Promise<void>): Promise<void> {
  await runner.startTransaction('READ COMMITTED');
  try {
    await work(runner.manager);
    await runner.commitTransaction();
  } catch (error) {
    // A rollback that fails has lost its connection, and with it the transaction.
    await runner.rollbackTransaction().catch(() => undefined);
    throw error;
  }
}
