import type { Migration } from '../migration.js';

/** An index less for each delivery: those of a bill are few, so that of all of them serves those that wait. */
export const deliveriesOfABill: Migration = {
  version: 8,
  name: 'deliveries-of-a-bill',
  statements: [`SET LOCAL lock_timeout = '5s'`, `DROP INDEX IF EXISTS payment_acceptance.delivery_order`],
};
