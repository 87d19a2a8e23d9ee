import type { Migration } from '../migration.js';

/**
 * Reads the dead letters page by page in settlement order, as a replay of very many does. On a table with millions of rows, create
 * the index beforehand, CONCURRENTLY and with the same name (docs/upgrading.md): this migration then skips it.
 */
export const deadLettersInOrder: Migration = {
  version: 22,
  name: 'dead-letters-in-order',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `CREATE INDEX IF NOT EXISTS delivery_dead_in_order ON payment_acceptance.delivery (seq, id) WHERE state = 'DEAD'`,
  ],
};

/** In a transaction of its own: it locks what handlers hold, who may wait for the lock of the one before. */
export const deadLettersOfConsumers: Migration = {
  version: 23,
  name: 'dead-letters-of-consumers',
  statements: [`SET LOCAL lock_timeout = '5s'`, `DROP INDEX IF EXISTS payment_acceptance.delivery_dead`],
};
