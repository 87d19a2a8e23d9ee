import type { AnsweredHints, Assertion, ComparablePayment, Hint } from './callback.js';

/**
 * What an answer of the service does with the hints it was asked for. A list may lag behind a postback: while it shows no
 * payment that can be the one a postback asserts, it is asked for again after each of the pauses. Then the assertion counts as
 * a repetition where the bill has such a payment at all; else it stays a note on the callback.
 *
 * A postback names no payment, so assertions are counted against payments: each payment answers one, and none that came
 * long after it was known. Otherwise that of a second payment would be taken for that of the first.
 */
export function answerHints(
  hints: readonly Hint[],
  payments: readonly ComparablePayment[],
  lagMs: readonly number[],
): AnsweredHints {
  const consumed: AnsweredHints['consumed'][number][] = [];
  const again: AnsweredHints['again'][number][] = [];
  const oldestFirst = [...payments].sort((a, b) => a.knownAt.getTime() - b.knownAt.getTime());
  const answered = new Set<ComparablePayment>();
  // As long as a list may lag behind its postback, a postback may lag behind its list.
  const patienceMs = lagMs.reduce((sum, pauseMs) => sum + pauseMs, 0);
  // The earliest first, with the oldest payment: what is left is for the later ones, which have the most pauses left.
  for (const hint of [...hints].sort((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime())) {
    const { id, asserts, asks, due } = hint;
    if (asserts === null) {
      consumed.push({ id, outcome: null });
      continue;
    }
    const knownFrom = hint.receivedAt.getTime() - patienceMs;
    const candidates = oldestFirst.filter(
      ({ status, knownAt }) => status === asserts && knownAt.getTime() >= knownFrom,
    );
    const free = candidates.slice(taken(candidates, asserts)).find((payment) => !answered.has(payment));
    const pauseMs = lagMs[asks];
    if (free) {
      answered.add(free);
      consumed.push({ id, outcome: 'confirmed' });
    } else if (due && pauseMs !== undefined) again.push({ id, pauseMs });
    else if (due) consumed.push({ id, outcome: isShown(asserts, payments) ? 'confirmed' : 'unconfirmed' });
  }
  return { consumed, again };
}

/** When the first of them came that asserts an outcome; `null` where none does. */
export function firstAssertion(hints: readonly Hint[]): Date | null {
  const times = hints.filter(({ asserts }) => asserts !== null).map(({ receivedAt }) => receivedAt.getTime());
  return times.length === 0 ? null : new Date(Math.min(...times));
}

/** How many of the candidates earlier assertions may have been about: those confirmed since the first of them was known. */
function taken([first]: readonly ComparablePayment[], asserts: Assertion): number {
  return first?.confirmedSince[asserts] ?? 0;
}

/** A FAIL may have advanced to SUCCESS since. */
function isShown(asserts: Assertion, payments: readonly ComparablePayment[]): boolean {
  return payments.some(({ status }) => status === 'SUCCESS' || status === asserts);
}
