import { refuseFailure, type Transaction, type TransactionOptions } from '../transaction.js';
import type { PgClient, OnAnswer } from './pg-connection.js';

/**
 * Runs a transaction that fails if its work swallowed a failed statement: PostgreSQL would silently answer its COMMIT
 * with a rollback. The status of the transaction comes with the answer to each statement.
 */
export async function runUnlessFailed<T>(
  transaction: Transaction,
  { connection }: PgClient,
  work: Parameters<typeof transaction.run<T>>[0],
  options: TransactionOptions,
): Promise<T> {
  let status = '';
  const onReady: OnAnswer = (message) => (status = message.status ?? '');
  const onError: OnAnswer = () => (status = 'E');
  connection.on('readyForQuery', onReady);
  connection.on('errorMessage', onError);
  try {
    return await transaction.run(work, { ...options, check: () => refuseFailure(status === 'E') });
  } finally {
    connection.off('readyForQuery', onReady);
    connection.off('errorMessage', onError);
  }
}
