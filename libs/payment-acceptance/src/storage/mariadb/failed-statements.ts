import { refuseFailure, type Transaction, type TransactionOptions } from '../transaction.js';

/**
 * Runs a transaction that is refused where its work swallowed the failure of a statement. A deadlock undoes all of it, and
 * what its work does after that would commit statement by statement, so the connection commits nothing by itself meanwhile.
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
    before: also(before, 'autocommit = 0'),
    after: also(after, 'autocommit = 1'),
  });
}

/** One more setting of the statement that makes some. */
function also(statement: string | undefined, setting: string): string {
  return statement === undefined ? `SET ${setting}` : `${statement}, ${setting}`;
}
