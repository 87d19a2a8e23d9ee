import { TimeoutError, withTimeout } from '../common/timeout.js';
import { StatementTimeoutError } from './storage.errors.js';

/** For statements that read or remove much at once, and that no payment waits for, in milliseconds. */
export const LONG_STATEMENT_MS = 60_000;

/** For each statement of a migration, which may read a whole table, in milliseconds. */
export const MIGRATION_STATEMENT_MS = 3_600_000;

/**
 * Waits for what a statement answers, so long and no longer.
 * @throws StatementTimeoutError after which the connection has to go: the server may still do it
 */
export async function answerWithin<T>(limitMs: number, answer: Promise<T>): Promise<T> {
  if (limitMs === Infinity) return answer;
  try {
    return await withTimeout(limitMs, answer);
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error;
    answer.catch(() => undefined);
    throw new StatementTimeoutError(limitMs);
  }
}
