import type { Harness } from '../../support/harness.js';
import { pay as payBill } from '../../support/pay.js';

/** A bill of the order is made and paid, and what its events are handed to has had its turn. */
export async function pay(harness: Harness, orderId = 'A-1'): Promise<void> {
  await payBill(harness, orderId);
  await harness.settle();
}
