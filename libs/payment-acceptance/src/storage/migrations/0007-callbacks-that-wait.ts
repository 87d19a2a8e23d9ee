import type { Migration } from '../migration.js';

/**
 * An index less for each callback: those of a bill are few, so that of all of them serves those that wait. By itself, since
 * a transaction that kept both tables from others would meet a callback that has the one and waits for the other.
 */
export const callbacksThatWait: Migration = {
  version: 7,
  name: 'callbacks-that-wait',
  statements: [`SET LOCAL lock_timeout = '5s'`, `DROP INDEX IF EXISTS payment_acceptance.callback_hint`],
};
