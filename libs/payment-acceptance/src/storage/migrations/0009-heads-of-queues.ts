import type { Migration } from '../migration.js';

/**
 * Lets a claim read only deliveries that are the first of their bill and consumer: however many wait behind one, it passes
 * over none of them. The state stands in other words than in the index of all that waits, so that a claim never takes that
 * one instead. What a previous release inserts is behind nothing, as its claims have it: they look at each. On a
 * table with millions of rows add the column and make the indexes beforehand, with the same names and CONCURRENTLY
 * (docs/security.md): this migration then finds them there.
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
