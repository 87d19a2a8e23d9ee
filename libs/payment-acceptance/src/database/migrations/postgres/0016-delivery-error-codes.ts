import type { Migration } from '../migration.js';

/** The kind of a delivery's last error, so that errors need not be distinguished by their messages. */
export const deliveryErrorCodes: Migration = {
  version: 16,
  name: 'delivery-error-codes',
  statements: [
    `SET LOCAL lock_timeout = '5s'`,
    `ALTER TABLE payment_acceptance.delivery ADD COLUMN IF NOT EXISTS last_error_code text`,
  ],
};
