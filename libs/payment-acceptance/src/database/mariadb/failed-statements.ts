import { refuseFailure, type Transaction, type TransactionOptions } from '../transaction.js';

/**
 * Runs a transaction that fails if its work swallowed a failed statement. A deadlock rolls the transaction back, and
 * later statements of the work would then commit one by one, so autocommit is off meanwhile.
 */
export function runUnlessFailed<T>(
  transaction: Transaction,
  work: Parameters<typeof transaction.run<T>>[0],
  options: TransactionOptions,
): Promise<T> {
  const { before, after } = options;
  return transaction.run(work, {
    check: () => refuseFailure(transaction.hasFailed),
    ...options,
    before: appendSetting(before, 'autocommit = 0'),
    after: appendSetting(after, 'autocommit = 1'),
  });
}

function appendSetting(statement: string | undefined, setting: string): string {
  return statement === undefined ? `SET ${setting}` : `${statement}, ${setting}`;
}
