import type { Migration } from '../migration.js';

/**
 * Lets health find bills whose checks fail again and again without reading those that are well. On a table with millions of
 * rows make it beforehand, with the same name and CONCURRENTLY (docs/security.md): this migration then finds it there.
 */
export const failingBills: Migration = {
  version: 11,
  name: 'failing-bills',
  statements: [
    `CREATE INDEX IF NOT EXISTS bill_failing ON payment_acceptance.bill (shop)
      WHERE failed_checks >= 5 AND next_check_at IS NOT NULL`,
  ],
};
