import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. */
export const heldBills: Migration = {
  version: 15,
  name: 'held-bills',
  statements: [
    `CREATE TABLE IF NOT EXISTS payment_acceptance.held_bill (
      bill_id CHAR(36) PRIMARY KEY, shop VARCHAR(64) NOT NULL, held_since DATETIME(6) NOT NULL
    ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin`,
  ],
};
