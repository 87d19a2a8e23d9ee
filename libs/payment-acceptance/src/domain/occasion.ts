import type { Hint } from './callback.js';

/** The reviews that there have been of a bill as a whole, for one reason. */
export interface EarlierReviews {
  readonly open: number;
  readonly closed: number;
  readonly lastClosedAt: Date | null;
}

/** How long a person who has closed such a review is left alone, where nothing new is told of the bill. */
const QUIET_MS = 24 * 3_600_000;

/**
 * What makes a review of a bill that cannot be listed or checked another one than those before it; `undefined` where there is
 * no need of one. A person who closes it has seen what there was until then: money that comes later is told of again, at the
 * first callback since, or after a day.
 */
export function occasionOfReview(
  { open, closed, lastClosedAt }: EarlierReviews,
  hints: readonly Pick<Hint, 'receivedAt'>[],
  now: Date,
): string | undefined {
  if (open > 0) return undefined;
  if (lastClosedAt === null) return '';
  const told = hints.some(({ receivedAt }) => receivedAt > lastClosedAt);
  return told || now.getTime() - lastClosedAt.getTime() >= QUIET_MS ? String(closed) : undefined;
}
