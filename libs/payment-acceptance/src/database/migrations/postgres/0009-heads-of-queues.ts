import type { Migration } from '../migration.js';

/**
 * Lets a claim read only the heads of queues, the first deliveries per bill and consumer, however many wait behind them. Its
 * condition on the state is phrased differently from that of the index of all pending rows, so that a claim never uses that
 * one. A previous release inserts deliveries that are not `behind`, which suits its claims: they check each of them. On a
 * table with millions of rows, add the column and create the indexes beforehand, CONCURRENTLY and with the same names
 * (docs/upgrading.md): this migration then skips them.
 */
export const headsOfQueues: Migration = {
  version: 9,
  name: 'heads-of-queues',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.delivery ADD COLUMN IF NOT EXISTS behind boolean NOT NULL DEFAULT false`,
    `CREATE INDEX IF NOT EXISTS delivery_next ON payment_acceptance.delivery (consumer, event_name, due_at, seq)
      WHERE state NOT IN ('DONE', 'DEAD') AND NOT behind`,
    `CREATE INDEX IF NOT EXISTS delivery_behind ON payment_acceptance.delivery (bill_id, consumer, seq)
      WHERE behind`,
  ],
};
