import type { Migration } from '../migration.js';

/** The kind of a delivery's last error, so that nobody has to tell errors apart by their texts. */
export const deliveryErrorCodes: Migration = {
  version: 16,
  name: 'delivery-error-codes',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.delivery ADD COLUMN IF NOT EXISTS last_error_code text`,
  ],
};
