import type { Migration } from '../migration.js';

/** Since when a consumer's deliveries are complete: an older one may have been removed by retention, or never existed. */
export const keptDeliveries: Migration = {
  version: 12,
  name: 'kept-deliveries',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.consumer ADD COLUMN IF NOT EXISTS kept_since timestamptz`,
    `UPDATE payment_acceptance.consumer SET kept_since = now() WHERE kept_since IS NULL`,
  ],
};
