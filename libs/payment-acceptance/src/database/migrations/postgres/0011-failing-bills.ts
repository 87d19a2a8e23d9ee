import type { Migration } from '../migration.js';

/**
 * Lets health find bills whose checks keep failing without reading the others. On a table with millions of rows, create the
 * index beforehand, CONCURRENTLY and with the same name (docs/upgrading.md): this migration then skips it.
 */
export const failingBills: Migration = {
  version: 11,
  name: 'failing-bills',
  statements: [
    `CREATE INDEX IF NOT EXISTS bill_failing ON payment_acceptance.bill (shop)
      WHERE failed_checks >= 5 AND next_check_at IS NOT NULL`,
  ],
};
