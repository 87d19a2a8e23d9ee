import type { AnsweredHints, Assertion, ComparablePayment, Hint } from './callback.js';

/**
 * Matches the hints of a check with the service's answer. The list may lag behind a postback: while it shows no payment
 * that the postback can be about, the list is requested again after each of the pauses. After the last pause, the
 * assertion counts as a repetition if the bill has such a payment at all; otherwise it stays a note on the callback.
 *
 * For a redirect to the Success URL, the list is requested as often, until it shows any SUCCESS.
 *
 * A postback names no payment, so assertions are counted against payments: each payment answers one assertion, and none
 * that arrived long after the payment was known. Otherwise an assertion about a second payment would be matched with
 * the first.
 */
export function answerHints(
  hints: readonly Hint[],
  payments: readonly ComparablePayment[],
  lagMs: readonly number[],
): AnsweredHints {
  const consumed: AnsweredHints['consumed'][number][] = [];
  const postponed: AnsweredHints['postponed'][number][] = [];
  const oldestFirst = [...payments].sort((a, b) => a.knownAt.getTime() - b.knownAt.getTime());
  const answered = new Set<ComparablePayment>();
  // A postback may lag behind the list by as much as the list may lag behind a postback.
  const patienceMs = lagMs.reduce((sum, pauseMs) => sum + pauseMs, 0);
  // Match the earliest hints with the oldest payments; later hints have more pauses left to wait for a match.
  for (const hint of [...hints].sort((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime())) {
    const { id, asserts, asks, due } = hint;
    const pauseMs = lagMs[asks];
    if (asserts === null) {
      if (!hint.expectsSuccess || isShown('SUCCESS', payments)) consumed.push({ id, outcome: null });
      else if (due && pauseMs !== undefined) postponed.push({ id, pauseMs });
      else if (due) consumed.push({ id, outcome: null });
      continue;
    }
    const knownFrom = hint.receivedAt.getTime() - patienceMs;
    const candidates = oldestFirst.filter(
      ({ status, knownAt }) => status === asserts && knownAt.getTime() >= knownFrom,
    );
    // Earlier assertions may have used up as many candidates as were confirmed since the first was known.
    const usedUp = candidates[0]?.confirmedSince[asserts] ?? 0;
    const free = candidates.slice(usedUp).find((payment) => !answered.has(payment));
    if (free) {
      answered.add(free);
      consumed.push({ id, outcome: 'confirmed' });
    } else if (due && pauseMs !== undefined) postponed.push({ id, pauseMs });
    else if (due) consumed.push({ id, outcome: isShown(asserts, payments) ? 'confirmed' : 'unconfirmed' });
  }
  return { consumed, postponed };
}

export function firstAssertion(hints: readonly Hint[]): Date | null {
  const times = hints.filter(({ asserts }) => asserts !== null).map(({ receivedAt }) => receivedAt.getTime());
  return times.length === 0 ? null : new Date(Math.min(...times));
}

/** A payment that failed may have advanced to SUCCESS since. */
function isShown(asserts: Assertion, payments: readonly ComparablePayment[]): boolean {
  return payments.some(({ status }) => status === 'SUCCESS' || status === asserts);
}
