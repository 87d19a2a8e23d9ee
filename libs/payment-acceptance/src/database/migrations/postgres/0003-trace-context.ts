import type { Migration } from '../migration.js';

/** W3C Trace Context of a bill, so that other processes continue its trace; `NULL` without tracing. */
export const traceContext: Migration = {
  version: 3,
  name: 'trace-context',
  statements: [
    `ALTER TABLE payment_acceptance.bill ADD COLUMN traceparent text`,
    `ALTER TABLE payment_acceptance.event ADD COLUMN traceparent text`,
  ],
};
