import type { PaymentTransactions } from '../database/payment-transactions.js';
import { DEFAULT_POOL_SIZE } from '../database/pool.js';

/** The part of MikroORM's `EntityManager` that is used. */
export interface MikroOrmManager<Em> {
  fork(): Em;
  transactional<T>(work: (em: Em) => Promise<T>, options: { isolationLevel: never }): Promise<T>;
  flush(): Promise<void>;
  clear(): void;
  getTransactionContext(): unknown;
  getConnection(): unknown;
}

/** The transaction of MikroORM, which is a transaction of Kysely. */
interface Context {
  readonly isRolledBack: boolean;
  getExecutor(): { provideConnection(work: (connection: KyselyConnection) => Promise<void>): Promise<void> };
  rollback(): { execute(): Promise<void> };
}

interface KyselyConnection {
  executeQuery?: (query: object) => Promise<{ rows: unknown[] }>;
}

/**
 * Kysely releases a connection only after a successful ROLLBACK, so it would never release a connection whose session
 * has ended. The server has already rolled such a session back, so its ROLLBACK is answered here.
 */
async function releaseDeadConnection(context: Context): Promise<void> {
  if (context.isRolledBack) return;
  // The session may still be open: perhaps only one of the host's subscribers has failed.
  const isReleased = await context
    .rollback()
    .execute()
    .then(
      () => true,
      () => false,
    );
  if (isReleased) return;
  await context.getExecutor().provideConnection((connection) => {
    connection.executeQuery = () => {
      delete connection.executeQuery;
      return Promise.resolve({ rows: [] });
    };
    return Promise.resolve();
  });
  await context.rollback().execute();
}

interface Connection {
  execute(sql: string, values: readonly unknown[], method: 'all' | 'run', context: unknown): Promise<unknown>;
}

/**
 * Transactions of MikroORM on PostgreSQL or MariaDB: handlers get a fork of the entity manager. What they persist is
 * flushed when they return. A statement that a handler does not await may commit even if the handler throws: await
 * every statement.
 * @param em the host's entity manager
 */
export function mikroOrmTransactions<Em extends MikroOrmManager<Em>>(
  em: Em,
  { connections = DEFAULT_POOL_SIZE }: MikroOrmTransactionsOptions = {},
): PaymentTransactions<Em> {
  return {
    placeholders: '?',
    pool: { size: connections, free: () => connections },
    async run(work) {
      let context: Context | undefined;
      const inside = (tx: Em): ReturnType<typeof work> => {
        context = tx.getTransactionContext() as Context;
        return work(tx);
      };
      try {
        return await em.fork().transactional(inside, { isolationLevel: 'read committed' as never });
      } catch (error) {
        if (context) await releaseDeadConnection(context);
        throw error;
      }
    },
    async query(tx, sql, values, gives) {
      // The handler's changes must be flushed before the mark that it is done, and never around a ROLLBACK.
      if (sql === 'ROLLBACK') tx.clear();
      else await tx.flush();
      const method = gives === 'rows' ? 'all' : 'run';
      const answer = await (tx.getConnection() as Connection).execute(sql, values, method, tx.getTransactionContext());
      if (Array.isArray(answer)) return { rows: answer, rowCount: answer.length };
      return { rows: [], rowCount: (answer as { affectedRows: number }).affectedRows };
    },
  };
}

export interface MikroOrmTransactionsOptions {
  /** Maximum connections of the host's pool. At most half of them run handlers at a time. Default 10. */
  readonly connections?: number;
}
