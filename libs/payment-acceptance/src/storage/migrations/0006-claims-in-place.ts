import type { Migration } from '../migration.js';

/**
 * Lets the claim of a bill change its row in place, without a new entry in each index: no index covers what a claim writes,
 * and pages have room for another version of a row. Bills that are being created are found by `bill_newest`. Nothing is
 * rewritten or read; where somebody else keeps the table for longer than callbacks can wait, it fails and is to be repeated.
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
