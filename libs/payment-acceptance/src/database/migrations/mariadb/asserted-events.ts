import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. */
export const assertedEvents: Migration = {
  version: 13,
  name: 'asserted-events',
  statements: ['ALTER TABLE payment_acceptance.event ADD COLUMN IF NOT EXISTS asserted_at DATETIME(6)'],
};
