import type { AnsweredHints, Claim, ClaimablePayment, Hint } from './callback.js';

/**
 * What an answer of the service does with the hints it was asked for. A list may lag behind a postback: while it shows no
 * payment that can be the one a postback claims, it is asked for again after each of the pauses. Then the claim counts as
 * a repetition where the bill has such a payment at all; else it stays a note on the callback.
 *
 * A postback names no payment, so claims are counted against payments: each payment answers one claim, and none that came
 * long after it was known. Otherwise the claim of a second payment would be taken for that of the first.
 */
export function answerHints(
  hints: readonly Hint[],
  payments: readonly ClaimablePayment[],
  lagMs: readonly number[],
): AnsweredHints {
  const consumed: AnsweredHints['consumed'][number][] = [];
  const again: AnsweredHints['again'][number][] = [];
  const oldestFirst = [...payments].sort((a, b) => a.knownAt.getTime() - b.knownAt.getTime());
  const answered = new Set<ClaimablePayment>();
  // As long as a list may lag behind its postback, a postback may lag behind its list.
  const patienceMs = lagMs.reduce((sum, pauseMs) => sum + pauseMs, 0);
  // The earliest first, with the oldest payment: what is left is for the later ones, which have the most pauses left.
  for (const hint of [...hints].sort((a, b) => a.receivedAt.getTime() - b.receivedAt.getTime())) {
    const { id, claims, asks, due } = hint;
    if (claims === null) {
      consumed.push({ id, outcome: null });
      continue;
    }
    const knownFrom = hint.receivedAt.getTime() - patienceMs;
    const candidates = oldestFirst.filter(({ status, knownAt }) => status === claims && knownAt.getTime() >= knownFrom);
    const free = candidates.slice(taken(candidates, claims)).find((payment) => !answered.has(payment));
    const pauseMs = lagMs[asks];
    if (free) {
      answered.add(free);
      consumed.push({ id, outcome: 'confirmed' });
    } else if (due && pauseMs !== undefined) again.push({ id, pauseMs });
    else if (due) consumed.push({ id, outcome: isShown(claims, payments) ? 'confirmed' : 'unconfirmed' });
  }
  return { consumed, again };
}

/** How many of the candidates earlier claims may have been about: those confirmed since the first of them was known. */
function taken([first]: readonly ClaimablePayment[], claims: Claim): number {
  return first?.confirmedSince[claims] ?? 0;
}

/** A FAIL may have advanced to SUCCESS since. */
function isShown(claims: Claim, payments: readonly ClaimablePayment[]): boolean {
  return payments.some(({ status }) => status === 'SUCCESS' || status === claims);
}
