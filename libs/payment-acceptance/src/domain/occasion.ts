import type { Hint } from './callback.js';

/** Earlier reviews of a whole bill for one reason. */
export interface EarlierReviews {
  readonly open: number;
  readonly closed: number;
  readonly lastClosedAt: Date | null;
}

/** How long after a review was closed no new one opens, unless a callback has come since. */
const REOPEN_AFTER_MS = 24 * 3_600_000;

/**
 * Distinguishes a new review of a bill that cannot be listed, read or checked from earlier ones; `undefined` if none is
 * needed. Whoever closes such a review has seen everything up to then, but no money that comes later: so another review
 * opens at the next callback, or after a day.
 */
export function occasionOfReview(
  { open, closed, lastClosedAt }: EarlierReviews,
  hints: readonly Pick<Hint, 'receivedAt'>[],
  now: Date,
): string | undefined {
  if (open > 0) return undefined;
  if (lastClosedAt === null) return '';
  const hasNewHint = hints.some(({ receivedAt }) => receivedAt > lastClosedAt);
  return hasNewHint || now.getTime() - lastClosedAt.getTime() >= REOPEN_AFTER_MS ? String(closed) : undefined;
}
