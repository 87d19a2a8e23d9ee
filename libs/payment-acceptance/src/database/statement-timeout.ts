import { TimeoutError, withTimeout } from '../common/timeout.js';
import { PaymentStatementTimeoutError } from './database.errors.js';

/** Timeout of statements that read or delete many rows and that no payment waits for, in milliseconds. */
export const LONG_STATEMENT_TIMEOUT_MS = 60_000;

/** Timeout of each statement of a migration, which may read a whole table, in milliseconds. */
export const MIGRATION_STATEMENT_TIMEOUT_MS = 3_600_000;

/** How long a statement of a migration waits for a lock, in seconds: other statements on the table wait behind it. */
export const MIGRATION_LOCK_SECONDS = 5;

/** Timeout of reports, which read the whole history while only an operator waits, in milliseconds. */
export const REPORT_STATEMENT_TIMEOUT_MS = 1_800_000;

/**
 * Awaits the answer to a statement, up to a timeout.
 * @throws PaymentStatementTimeoutError after which the connection must be closed: the server may still execute the
 *   statement
 */
export async function withStatementTimeout<T>(timeoutMs: number, answer: Promise<T>): Promise<T> {
  if (timeoutMs === Infinity) return answer;
  try {
    return await withTimeout(timeoutMs, answer);
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    answer.catch(() => undefined);
    throw new PaymentStatementTimeoutError(timeoutMs);
  }
}
