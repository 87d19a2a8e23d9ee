import type { Migration } from '../migration.js';

/**
 * Finds the oldest delivery that waits for a consumer, and the oldest that fails, however many wait. Nothing reads the index
 * of due deliveries since claims have one of the heads of queues. On a table with millions of rows, create the new indexes
 * beforehand, CONCURRENTLY and with the same names (docs/upgrading.md): this migration then skips them.
 */
export const waitingDeliveries: Migration = {
  version: 20,
  name: 'waiting-deliveries',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `CREATE INDEX IF NOT EXISTS delivery_waiting ON payment_acceptance.delivery (consumer, seq) WHERE state = 'PENDING'`,
    `CREATE INDEX IF NOT EXISTS delivery_failing ON payment_acceptance.delivery (consumer, seq)
      WHERE state = 'PENDING' AND last_error_code IS NOT NULL`,
    `DROP INDEX IF EXISTS payment_acceptance.delivery_due`,
  ],
};
