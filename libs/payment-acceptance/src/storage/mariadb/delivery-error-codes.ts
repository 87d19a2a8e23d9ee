import type { Migration } from '../migration.js';

/** As PostgreSQL's migration of the same version. The column is added without a copy of the table. */
export const deliveryErrorCodes: Migration = {
  version: 16,
  name: 'delivery-error-codes',
  statements: ['ALTER TABLE payment_acceptance.delivery ADD COLUMN IF NOT EXISTS last_error_code VARCHAR(255)'],
};
