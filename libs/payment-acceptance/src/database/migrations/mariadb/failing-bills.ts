import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. */
export const failingBills: Migration = {
  version: 11,
  name: 'failing-bills',
  statements: ['ALTER TABLE payment_acceptance.bill ADD INDEX IF NOT EXISTS bill_failing (failed_checks, shop)'],
};
