export { createPaymentInbox, type InboxManager } from './inbox-table.js';
export { processOnce, type ProcessOnceOptions } from './process-once.js';
export { readPaymentEvent, UnreadablePaymentEventError } from './read-payment-event.js';
export type { PaymentCloudEvent, PaymentCloudEventOf } from '../cloud-event.js';
