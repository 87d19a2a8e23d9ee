import type { Migration } from '../migration.js';

/**
 * Bills whose events are kept back until an operator releases them. Few, and for a while: a table of its own, so that
 * whoever claims or settles looks it up in next to nothing. Without a foreign key, which would lock the bills here.
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
