import type { Harness } from '../../support/harness.js';
import { pay as payBill } from '../../support/pay.js';

/** Creates and pays a bill of the order, and runs its deliveries. */
export async function pay(harness: Harness, orderId = 'A-1'): Promise<void> {
  await payBill(harness, orderId);
  await harness.settle();
}
