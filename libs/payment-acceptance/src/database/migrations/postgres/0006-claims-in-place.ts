import type { Migration } from '../migration.js';

/**
 * Lets the claim of a bill be a HOT update, without new index entries: no index covers the columns that a claim writes, and
 * pages have room for another version of a row. Bills being created are found with `bill_newest`. Rewrites and reads nothing.
 * If another session locks the table for longer than callbacks can wait, it fails and must be repeated.
 */
export const claimsInPlace: Migration = {
  version: 6,
  name: 'claims-in-place',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `DROP INDEX IF EXISTS payment_acceptance.bill_creating`,
    `ALTER TABLE payment_acceptance.bill SET (fillfactor = 80)`,
    `ALTER TABLE payment_acceptance.delivery SET (fillfactor = 80)`,
  ],
};
