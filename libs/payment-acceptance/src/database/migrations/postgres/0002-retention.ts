import type { Migration } from '../migration.js';

/**
 * Lets retention find old rows without reading those that stay. Each index covers ended rows only, so recording a callback
 * and claiming a delivery do not touch it. On tables with millions of rows, create the indexes beforehand, CONCURRENTLY and
 * with the same names (docs/upgrading.md): this migration then skips them.
 */
export const retention: Migration = {
  version: 2,
  name: 'retention',
  statements: [
    `CREATE INDEX IF NOT EXISTS callback_consumed ON payment_acceptance.callback (received_at) WHERE NOT pending`,
    `CREATE INDEX IF NOT EXISTS callback_unredacted ON payment_acceptance.callback (received_at)
      WHERE NOT pending AND fields <> '{}'::jsonb`,
    `CREATE INDEX IF NOT EXISTS delivery_done ON payment_acceptance.delivery (ended_at) WHERE state = 'DONE'`,
  ],
};
