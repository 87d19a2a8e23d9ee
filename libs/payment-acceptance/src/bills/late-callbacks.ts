import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import type { BillStore } from '../storage/bill.store.js';
import type { BillId, IntentId, OrderId } from '../domain/ids.js';

const logger = new PaymentLogger('PaymentBills');

/** A bill whose id at the service has just become known. */
interface NamedBill {
  readonly intentId: IntentId;
  readonly shop: string;
  readonly orderId: OrderId;
  readonly billId: BillId | null;
}

/**
 * Ties the postbacks that came earlier to their bill, once that is committed. A failure here only delays what is about the
 * bill anyway: it is checked by its schedule. So it is said, and what was done stays done.
 */
export async function linkLateCallbacks(
  store: BillStore,
  { intentId, shop, orderId, billId }: NamedBill,
): Promise<void> {
  try {
    await store.linkWaitingCallbacks({ intentId, shop, billId });
  } catch (error) {
    logger.warn(`Postbacks that came before bill ${billId ?? ''} was known wait. ${describeError(error)}`, {
      ...{ shop, orderId, billId, intentId },
      error: errorType(error),
    });
  }
}
