import type { Migration } from '../migration.js';

/** What the service last listed that contradicts a settled payment, so that each change to it can be told. */
export const contradictedPayments: Migration = {
  version: 19,
  name: 'contradicted-payments',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.payment ADD COLUMN IF NOT EXISTS contradiction uuid`,
  ],
};
