import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. */
export const shopIdentities: Migration = {
  version: 10,
  name: 'shop-identities',
  statements: [
    `ALTER TABLE payment_acceptance.shop_state ADD COLUMN IF NOT EXISTS shop_id MEDIUMTEXT,
      ADD COLUMN IF NOT EXISTS api_base_url MEDIUMTEXT`,
  ],
};
