import type { Migration } from '../migration.js';

/**
 * Lets retention find what is old enough without reading what it keeps. Each index covers ended rows only, so recording
 * a callback and claiming a delivery touch none of them. On tables with millions of rows make them beforehand, with the
 * same names and CONCURRENTLY (docs/security.md): this migration then finds them there.
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
