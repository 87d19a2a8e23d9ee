import type { Migration } from '../migration.js';

/**
 * Removes an index: a bill has few callbacks, so the index of all of them also serves the pending ones. A migration of its
 * own: one that locked both tables could deadlock with a callback that holds one and waits for the other.
 */
export const callbacksThatWait: Migration = {
  version: 7,
  name: 'callbacks-that-wait',
  statements: [`SET LOCAL lock_timeout = '5s'`, `DROP INDEX IF EXISTS payment_acceptance.callback_hint`],
};
