import type { Migration } from '../migration.js';

/** Lets people page through bills, newest first, and see what operators did about one, however long the history is. */
export const consoleIndexes: Migration = {
  version: 4,
  name: 'console',
  statements: [
    `CREATE INDEX IF NOT EXISTS bill_created ON payment_acceptance.bill (created_at, id)`,
    `CREATE INDEX IF NOT EXISTS operator_action_target ON payment_acceptance.operator_action (target)`,
    `CREATE INDEX IF NOT EXISTS operator_action_at ON payment_acceptance.operator_action (at)`,
  ],
};
