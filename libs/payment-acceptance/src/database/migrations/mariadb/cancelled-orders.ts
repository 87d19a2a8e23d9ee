import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. Adding the column does not copy the table. */
export const cancelledOrders: Migration = {
  version: 21,
  name: 'cancelled-orders',
  statements: ['ALTER TABLE payment_acceptance.shop_order ADD COLUMN IF NOT EXISTS cancelled_at DATETIME(6)'],
};
