import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. Adding the column does not copy the table. */
export const contradictedPayments: Migration = {
  version: 19,
  name: 'contradicted-payments',
  statements: ['ALTER TABLE payment_acceptance.payment ADD COLUMN IF NOT EXISTS contradiction CHAR(36)'],
};
