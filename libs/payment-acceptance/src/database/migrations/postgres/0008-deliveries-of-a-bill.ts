import type { Migration } from '../migration.js';

/** Removes an index: a bill has few deliveries, so the index of all of them also serves the pending ones. */
export const deliveriesOfABill: Migration = {
  version: 8,
  name: 'deliveries-of-a-bill',
  statements: [`SET LOCAL lock_timeout = '5s'`, `DROP INDEX IF EXISTS payment_acceptance.delivery_order`],
};
