import type { AnsweredHints, Hint } from '../storage/check.store.js';
import type { LedgerPayment } from '../storage/settlement.store.js';

/**
 * What an answer of the service does with the hints it was asked for. A list may lag behind a postback: while it does not
 * show what one claims, it is asked again after each of the pauses; then the claim stays a note on the callback.
 */
export function answerHints(
  hints: readonly Hint[],
  payments: readonly LedgerPayment[],
  lagMs: readonly number[],
): AnsweredHints {
  const consumed: AnsweredHints['consumed'][number][] = [];
  const again: AnsweredHints['again'][number][] = [];
  for (const { id, claims, asks, due } of hints) {
    const pauseMs = lagMs[asks];
    if (claims === null) consumed.push({ id, outcome: null });
    else if (isShown(claims, payments)) consumed.push({ id, outcome: 'confirmed' });
    else if (!due) continue;
    else if (pauseMs !== undefined) again.push({ id, pauseMs });
    else consumed.push({ id, outcome: 'unconfirmed' });
  }
  return { consumed, again };
}

/** A FAIL may have advanced to SUCCESS since. */
function isShown(claims: 'SUCCESS' | 'FAIL', payments: readonly LedgerPayment[]): boolean {
  return payments.some(({ status }) => status === 'SUCCESS' || status === claims);
}
