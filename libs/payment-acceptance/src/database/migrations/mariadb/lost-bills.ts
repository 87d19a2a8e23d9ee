import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. */
export const lostBills: Migration = {
  version: 14,
  name: 'lost-bills',
  statements: [
    `CREATE TABLE IF NOT EXISTS payment_acceptance.lost_bill (
      id CHAR(36) NOT NULL UNIQUE, shop VARCHAR(64) NOT NULL, service_bill_id VARCHAR(128) NOT NULL,
      state VARCHAR(16) NOT NULL CHECK (state IN ('SOUGHT', 'LOST', 'DISMISSED')), asks INT NOT NULL,
      asked_at DATETIME(6) NOT NULL, ask_after DATETIME(6), order_id MEDIUMTEXT, first_postback_at DATETIME(6),
      payments JSON, listed INT, found_at DATETIME(6), PRIMARY KEY (shop, service_bill_id),
      INDEX lost_bill_found (state, found_at, id), INDEX lost_bill_again (shop, ask_after)
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin`,
    'ALTER TABLE payment_acceptance.shop_state ADD COLUMN IF NOT EXISTS next_inquiry_at DATETIME(6)',
  ],
};
