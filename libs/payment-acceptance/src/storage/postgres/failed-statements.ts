import { refuseFailure, type Transaction, type TransactionOptions } from '../transaction.js';
import type { PgClient, OnAnswer } from './pg-connection.js';

/**
 * Runs a transaction that is refused where its work swallowed the failure of a statement: PostgreSQL would answer the COMMIT
 * with a rollback, and nobody would know. After each statement it says what has become of the transaction.
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
