import type { Migration } from '../migration.js';

/** Which shop of the service a name stands for, so that a second application cannot use it for another one. */
export const shopIdentities: Migration = {
  version: 10,
  name: 'shop-identities',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.shop_state ADD COLUMN IF NOT EXISTS shop_id text,
      ADD COLUMN IF NOT EXISTS api_base_url text`,
  ],
};
