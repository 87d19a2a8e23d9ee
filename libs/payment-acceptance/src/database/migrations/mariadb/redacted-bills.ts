import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. None of it copies a table: the generated columns are virtual. */
export const redactedBills: Migration = {
  version: 17,
  name: 'redacted-bills',
  statements: [
    'ALTER TABLE payment_acceptance.bill ADD COLUMN IF NOT EXISTS redacted_at DATETIME(6)',
    `ALTER TABLE payment_acceptance.bill ADD COLUMN IF NOT EXISTS unredacted_at DATETIME(6) AS (
      CASE WHEN redacted_at IS NULL AND next_check_at IS NULL AND state NOT IN ('CREATING', 'UNKNOWN')
        THEN created_at END) VIRTUAL`,
    'ALTER TABLE payment_acceptance.bill ADD INDEX IF NOT EXISTS bill_unredacted (unredacted_at)',
    `ALTER TABLE payment_acceptance.operator_action ADD COLUMN IF NOT EXISTS noted_at DATETIME(6) AS (
      CASE WHEN JSON_VALUE(detail, '$.note') <> '' THEN at END) VIRTUAL`,
    'ALTER TABLE payment_acceptance.operator_action ADD INDEX IF NOT EXISTS operator_action_noted (noted_at)',
  ],
};
