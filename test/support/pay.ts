import type { Harness } from './harness.js';

/** A bill of the order is made and paid, and its postback has come. */
export async function pay(harness: Harness, orderId: string): Promise<void> {
  const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
  await harness.sandbox.pay(billId);
  await harness.sandbox.settled();
}
