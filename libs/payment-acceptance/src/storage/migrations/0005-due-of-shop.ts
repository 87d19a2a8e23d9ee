import type { Migration } from '../migration.js';

/**
 * Lets an instance see what is due of each shop, in order, without reading what waits for others: however many callbacks
 * and bills wait, a look reads as many as it takes. On tables with millions of rows make them beforehand, with the same
 * names and CONCURRENTLY: this migration then finds them there.
 */
export const dueOfShop: Migration = {
  version: 5,
  name: 'due-of-shop',
  statements: [
    `CREATE INDEX IF NOT EXISTS callback_due ON payment_acceptance.callback (shop, due_at)
      WHERE pending AND bill_id IS NOT NULL`,
    `CREATE INDEX IF NOT EXISTS bill_due_of_shop ON payment_acceptance.bill (shop, next_check_at)
      WHERE next_check_at IS NOT NULL`,
  ],
};
