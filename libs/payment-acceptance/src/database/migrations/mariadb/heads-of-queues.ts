import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. Adding the column does not copy the table. */
export const headsOfQueues: Migration = {
  version: 9,
  name: 'heads-of-queues',
  statements: [
    'ALTER TABLE payment_acceptance.delivery ADD COLUMN IF NOT EXISTS behind BOOLEAN NOT NULL DEFAULT FALSE',
    `ALTER TABLE payment_acceptance.delivery
      ADD INDEX IF NOT EXISTS delivery_next (state, behind, consumer, event_name, due_at, seq),
      ADD INDEX IF NOT EXISTS delivery_behind (state, behind, bill_id, consumer, seq)`,
  ],
};
