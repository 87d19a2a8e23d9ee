import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import type { CallbackStore } from './storage/callback.store.js';
import type { NamedBill } from './storage/named-bill.store.js';

const logger = new PaymentLogger('PaymentBills');

/** Call it after the bill is committed. A failure is only logged: the bill is then checked later, on schedule. */
export async function linkLateCallbacks(
  store: CallbackStore,
  { intentId, shop, orderId, billId }: NamedBill,
): Promise<void> {
  try {
    await store.linkWaiting({ intentId, shop, billId });
  } catch (error) {
    logger.write(
      'callbacks-not-linked',
      `Postbacks that arrived before bill ${billId ?? ''} was known are not linked to it yet. ${describeError(error)}`,
      { shop, orderId, billId, intentId, error: errorType(error) },
    );
  }
}
