import type { Migration } from '../migration.js';

/** Reads the dead letters page by page in settlement order, as a replay of very many does; none is looked for by consumer. */
export const deadLettersInOrder: Migration = {
  version: 22,
  name: 'dead-letters-in-order',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `CREATE INDEX IF NOT EXISTS delivery_dead_in_order ON payment_acceptance.delivery (seq, id) WHERE state = 'DEAD'`,
    `DROP INDEX IF EXISTS payment_acceptance.delivery_dead`,
  ],
};
