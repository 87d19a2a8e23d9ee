import type { Migration } from '../migration.js';

/** From when on all deliveries of a consumer are there: what retention has removed nobody can tell from what never was. */
export const keptDeliveries: Migration = {
  version: 12,
  name: 'kept-deliveries',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.consumer ADD COLUMN IF NOT EXISTS kept_since timestamptz`,
    `UPDATE payment_acceptance.consumer SET kept_since = now() WHERE kept_since IS NULL`,
  ],
};
