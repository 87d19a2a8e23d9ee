import { HandlerTransactionEndedError } from '../database/database.errors.js';
import type { PaymentTransactions } from '../database/payment-transactions.js';
import { DEFAULT_POOL_SIZE } from '../database/pool.js';
import { answerOf } from '../database/own-connections.js';

/** The part of a Knex transaction that is used. */
export interface KnexTransaction {
  raw(sql: string, values: readonly (string | number | boolean | null)[]): PromiseLike<unknown>;
  commit?: unknown;
  rollback?: unknown;
}

/** The part of a Knex instance that is used. */
export interface KnexInstance<Tx> {
  readonly client: { readonly pool?: KnexPool };
  transaction<T>(work: (tx: Tx) => Promise<T>, config: { isolationLevel: 'read committed' }): Promise<T>;
}

/** The pool of `tarn`, which Knex uses. */
export interface KnexPool {
  readonly max: number;
  numUsed(): number;
  numPendingAcquires(): number;
}

/**
 * Transactions of Knex on `pg` or `mysql2`: handlers get its transaction, as `PaymentEventContext<Knex.Transaction>`.
 * @param knex the host's instance
 */
export function knexTransactions<Tx extends KnexTransaction>(knex: KnexInstance<Tx>): PaymentTransactions<Tx> {
  const { pool } = knex.client;
  const size = pool?.max ?? DEFAULT_POOL_SIZE;
  const ended = new WeakSet<Tx>();
  return {
    placeholders: '?',
    pool: { size, free: () => size - (pool ? pool.numUsed() + pool.numPendingAcquires() : 0) },
    run: (work) =>
      knex.transaction((tx) => withoutEnd(tx, work, () => ended.add(tx)), { isolationLevel: 'read committed' }),
    async query(tx, sql, values) {
      // Refuse the module's next statement: otherwise what the handler wanted undone would commit.
      if (ended.delete(tx)) throw new HandlerTransactionEndedError();
      const answer = await tx.raw(sql, values);
      if (Array.isArray(answer)) return answerOf(answer[0]);
      const { rows, rowCount } = answer as { rows: unknown[]; rowCount: number | null };
      return { rows, rowCount: rowCount ?? 0 };
    },
  };
}

/**
 * Keeps the handler from ending the transaction: Knex would then silently give the connection back.
 * @param refused called when the handler tries to end it
 */
async function withoutEnd<Tx extends KnexTransaction, T>(
  tx: Tx,
  work: (tx: Tx) => Promise<T>,
  refused: () => void,
): Promise<T> {
  const { commit, rollback } = tx;
  const refuse = (): Promise<never> => {
    refused();
    const refusal = Promise.reject(new HandlerTransactionEndedError());
    // Not every handler awaits the returned promise.
    refusal.catch(() => undefined);
    return refusal;
  };
  Object.assign(tx, { commit: refuse, rollback: refuse });
  try {
    return await work(tx);
  } finally {
    Object.assign(tx, { commit, rollback });
  }
}
