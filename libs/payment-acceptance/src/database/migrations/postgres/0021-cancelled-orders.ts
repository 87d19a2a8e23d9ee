import type { Migration } from '../migration.js';

/** Orders for which no bill may be made any more, and whose money needs a person. */
export const cancelledOrders: Migration = {
  version: 21,
  name: 'cancelled-orders',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.shop_order ADD COLUMN IF NOT EXISTS cancelled_at timestamptz`,
  ],
};
