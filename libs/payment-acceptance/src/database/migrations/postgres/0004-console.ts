import type { Migration } from '../migration.js';

/**
 * Lets people page through the bills of any shop and state, newest first, and through operators' actions, however long the
 * history is. On tables with millions of rows, create the first two indexes beforehand, CONCURRENTLY and with the same
 * names: this migration then skips them.
 */
export const consoleIndexes: Migration = {
  version: 4,
  name: 'console',
  statements: [
    `CREATE INDEX IF NOT EXISTS bill_newest ON payment_acceptance.bill (state, created_at, id)`,
    `CREATE INDEX IF NOT EXISTS bill_newest_of_shop ON payment_acceptance.bill (shop, state, created_at, id)`,
    `CREATE INDEX IF NOT EXISTS operator_action_target ON payment_acceptance.operator_action (target)`,
    `CREATE INDEX IF NOT EXISTS operator_action_at ON payment_acceptance.operator_action (at, id)`,
  ],
};
