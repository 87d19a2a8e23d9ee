import type { Migration } from '../migration.js';

/** Where the trace of a bill goes on in another process, as W3C Trace Context writes it; `NULL` where nobody traces. */
export const traceContext: Migration = {
  version: 3,
  name: 'trace-context',
  statements: [
    `ALTER TABLE payment_acceptance.bill ADD COLUMN traceparent text`,
    `ALTER TABLE payment_acceptance.event ADD COLUMN traceparent text`,
  ],
};
