import type { Migration } from '../migration.js';

/**
 * Since when a bill's personal data is removed: what is learned of it later is stored without any. The indexes let
 * retention find bills and operators' notes whose age has come without reading the others; a creation gets no entry. On
 * tables with millions of rows, add the column and create the first index beforehand, CONCURRENTLY and with the same name
 * (docs/upgrading.md): this migration then skips them.
 */
export const redactedBills: Migration = {
  version: 17,
  name: 'redacted-bills',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.bill ADD COLUMN IF NOT EXISTS redacted_at timestamptz`,
    `CREATE INDEX IF NOT EXISTS bill_unredacted ON payment_acceptance.bill (created_at)
      WHERE redacted_at IS NULL AND next_check_at IS NULL AND state NOT IN ('CREATING', 'UNKNOWN')`,
    `CREATE INDEX IF NOT EXISTS operator_action_noted ON payment_acceptance.operator_action (at)
      WHERE (detail ->> 'note') <> ''`,
  ],
};
