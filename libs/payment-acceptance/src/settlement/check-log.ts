import type { LogFields } from '../common/payment-logger.js';
import type { ClaimedBill } from '../domain/claim.js';

export function fieldsOf({ shop, orderId, billId, intentId, token: check }: ClaimedBill): LogFields {
  return { shop, orderId, billId, intentId, check };
}
