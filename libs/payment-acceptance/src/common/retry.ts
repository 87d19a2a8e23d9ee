import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Tries a request again after a pause of random length between 0 and a ceiling (full jitter). The ceiling starts at
 * `baseMs`, doubles each time and stays at `capMs`. A pause that the other side asked for is kept, unless it is longer
 * than `capMs`: then the error is thrown at once, since a caller is waiting.
 */
export interface RetryPolicy {
  readonly attempts: number;
  readonly baseMs: number;
  readonly capMs: number;
  readonly fraction: () => number;
  readonly signal?: AbortSignal;
}

/** `mayRetry` says `false` for what must not be repeated, or the least pause in milliseconds. */
export async function retry<T>(
  policy: RetryPolicy,
  attempt: () => Promise<T>,
  mayRetry: (error: unknown) => false | { afterMs: number },
): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await attempt();
    } catch (error) {
      const allowed = mayRetry(error);
      if (!allowed || tried >= policy.attempts || allowed.afterMs > policy.capMs || policy.signal?.aborted) throw error;
      const ceiling = Math.min(policy.capMs, policy.baseMs * 2 ** (tried - 1));
      try {
        await sleep(Math.max(allowed.afterMs, policy.fraction() * ceiling), undefined, { signal: policy.signal });
      } catch {
        throw error;
      }
    }
  }
}

/** A pause that doubles with each failure up to a cap, of which a random part from one half to the whole is taken. */
export function backoff(failures: number, baseMs: number, capMs: number, fraction: number): number {
  const ceiling = Math.min(capMs, baseMs * 2 ** Math.min(failures, 30));
  return Math.round(ceiling * (0.5 + fraction / 2));
}
