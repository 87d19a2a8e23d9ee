import type { Migration } from '../migration.js';

/** The service's id of a bill's shop, of which the ids of its events are made. Bills made before have that of their shop's name. */
export const shopIds: Migration = {
  version: 18,
  name: 'shop-ids',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.bill ADD COLUMN IF NOT EXISTS shop_id text`,
  ],
};
