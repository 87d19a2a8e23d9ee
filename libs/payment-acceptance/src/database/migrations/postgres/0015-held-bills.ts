import type { Migration } from '../migration.js';

/**
 * Bills whose events are held back until an operator releases them. Few and temporary, hence a separate table, so that
 * claims and settlements can look them up cheaply. Without a foreign key, which would lock the bills.
 */
export const heldBills: Migration = {
  version: 15,
  name: 'held-bills',
  statements: [
    `CREATE TABLE IF NOT EXISTS payment_acceptance.held_bill (
      bill_id uuid PRIMARY KEY,
      shop text NOT NULL,
      held_since timestamptz NOT NULL
    )`,
  ],
};
