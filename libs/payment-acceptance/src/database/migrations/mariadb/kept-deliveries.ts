import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. */
export const keptDeliveries: Migration = {
  version: 12,
  name: 'kept-deliveries',
  statements: [
    'ALTER TABLE payment_acceptance.consumer ADD COLUMN IF NOT EXISTS kept_since DATETIME(6)',
    'UPDATE payment_acceptance.consumer SET kept_since = UTC_TIMESTAMP(6) WHERE kept_since IS NULL',
  ],
};
