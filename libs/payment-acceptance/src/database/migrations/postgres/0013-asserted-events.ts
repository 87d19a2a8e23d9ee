import type { Migration } from '../migration.js';

/** When an event's outcome was first asserted by a callback, so that its delivery shows how long the payer has waited. */
export const assertedEvents: Migration = {
  version: 13,
  name: 'asserted-events',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.event ADD COLUMN IF NOT EXISTS asserted_at timestamptz`,
  ],
};
