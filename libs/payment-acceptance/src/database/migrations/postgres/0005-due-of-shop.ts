import type { Migration } from '../migration.js';

/**
 * Lets an instance read the due bills of each shop, in order, without those of other shops: however many callbacks and bills
 * wait, a claim reads only as many as it takes. On tables with millions of rows, create the indexes beforehand, CONCURRENTLY
 * and with the same names: this migration then skips them.
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
