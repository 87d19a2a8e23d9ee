import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. Here one index has the oldest delivery of each consumer and each error. */
export const waitingDeliveries: Migration = {
  version: 20,
  name: 'waiting-deliveries',
  statements: [
    `ALTER TABLE payment_acceptance.delivery
      ADD INDEX IF NOT EXISTS delivery_waiting (state, last_error_code, consumer, seq), DROP INDEX IF EXISTS delivery_due`,
  ],
};
