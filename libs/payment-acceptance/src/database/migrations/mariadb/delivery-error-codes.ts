import type { Migration } from '../migration.js';

/** See PostgreSQL's migration of the same version. Adding the column does not copy the table. */
export const deliveryErrorCodes: Migration = {
  version: 16,
  name: 'delivery-error-codes',
  statements: ['ALTER TABLE payment_acceptance.delivery ADD COLUMN IF NOT EXISTS last_error_code VARCHAR(255)'],
};
