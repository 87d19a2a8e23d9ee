import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. Adding the column does not copy the table. */
export const shopIds: Migration = {
  version: 18,
  name: 'shop-ids',
  statements: ['ALTER TABLE payment_acceptance.bill ADD COLUMN IF NOT EXISTS shop_id MEDIUMTEXT'],
};
