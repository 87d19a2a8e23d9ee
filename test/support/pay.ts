import type { Harness } from './harness.js';

/** Creates and pays a bill of the order, and waits for its postback. */
export async function pay(harness: Harness, orderId: string): Promise<void> {
  const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
  await harness.sandbox.pay(billId);
  await harness.sandbox.settled();
}
