import { countBy } from './tables.mjs';

/** @import { KnownBill, Payment, Unknown } from './account.mjs' */
/** @import { Ledger } from './ledger.mjs' */

/**
 * @param {{ bills: KnownBill[]; payments: Payment[]; ledger: Ledger; unknown: Unknown; acknowledged: { postbacks: number; redirects: number } }} found
 * @returns {[string, string | number][]}
 */
export function figures({ bills, payments, ledger, unknown, acknowledged }) {
  const statuses = countBy(payments, ({ status }) => status);
  const events = countBy(ledger.events, ({ name }) => name);
  const states = countBy(ledger.bills, ({ state }) => state);
  const effects = countBy(ledger.effects, ({ name }) => name);
  const orders = countBy(ledger.orders, ({ status }) => status);
  const reviews = countBy(ledger.reviews, ({ reason }) => reason);
  /** @type {(counts: Map<string, number>, name: string) => number} */
  const of = (counts, name) => counts.get(name) ?? 0;
  /** @param {Map<string, number>} counts */
  const list = (counts) =>
    [...counts]
      .sort(([, a], [, b]) => b - a)
      .map(([name, count]) => `${name} ${count}`)
      .join(', ');
  return [
    ['bills at the service', bills.length],
    ['bills on record', list(states)],
    ['payments of known bills', payments.length],
    ['  succeeded', of(statuses, 'SUCCESS')],
    ['  failed', of(statuses, 'FAIL')],
    ['  without a result', payments.length - of(statuses, 'SUCCESS') - of(statuses, 'FAIL')],
    ['events payment.succeeded', of(events, 'payment.succeeded')],
    ['events payment.failed', of(events, 'payment.failed')],
    ['reviews', `${ledger.reviews.length}${reviews.size > 0 ? `: ${list(reviews)}` : ''}`],
    ['orders paid', `${of(orders, 'paid')} of ${ledger.orders.length}`],
    ['effects on orders', `${ledger.effects.length}: ${list(effects)}`],
    [
      'postbacks acknowledged, stored',
      `${acknowledged.postbacks}, ${ledger.callbacks.filter(({ kind }) => kind === 'postback').length}`,
    ],
    [
      'redirects acknowledged, stored',
      `${acknowledged.redirects}, ${ledger.callbacks.filter(({ kind }) => kind !== 'postback').length}`,
    ],
    ['unknown creations', of(states, 'UNKNOWN')],
    [
      '  that made a bill',
      `${unknown.bills} (${unknown.leftBehind} left behind by a new attempt, ${unknown.payments} payments)`,
    ],
  ];
}
