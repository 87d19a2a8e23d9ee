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
export async function retrying<T>(
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

/** Reads `Retry-After`: whole seconds or an HTTP date. */
export function retryAfterMs(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime());
}
