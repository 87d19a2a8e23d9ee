import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Exponential backoff with full jitter: each pause is random between 0 and a ceiling, which starts at `baseMs` and
 * doubles up to `capMs`. A pause that the other side asked for is respected, unless it is longer than `capMs`: then the
 * error is thrown at once, since a caller is waiting.
 */
export interface RetryPolicy {
  readonly attempts: number;
  readonly baseMs: number;
  readonly capMs: number;
  readonly fraction: () => number;
  readonly signal?: AbortSignal;
}

/** @param mayRetry returns `false` if the error must not be retried, or else the minimum pause in milliseconds */
export async function retry<T>(
  policy: RetryPolicy,
  attempt: () => Promise<T>,
  mayRetry: (error: unknown) => false | { afterMs: number },
): Promise<T> {
  for (let attemptNumber = 1; ; attemptNumber += 1) {
    try {
      return await attempt();
    } catch (error) {
      const allowed = mayRetry(error);
      if (!allowed || attemptNumber >= policy.attempts || allowed.afterMs > policy.capMs || policy.signal?.aborted)
        throw error;
      const ceiling = Math.min(policy.capMs, policy.baseMs * 2 ** (attemptNumber - 1));
      try {
        await sleep(Math.max(allowed.afterMs, policy.fraction() * ceiling), undefined, { signal: policy.signal });
      } catch {
        throw error;
      }
    }
  }
}

/** Exponential backoff with equal jitter: half to all of a ceiling that doubles up to a cap. */
export function backoff(failures: number, baseMs: number, capMs: number, fraction: number): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(failures, 30));
  return Math.round(ceiling * (0.5 + fraction / 2));
}
