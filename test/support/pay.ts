import type { Bed } from './bed.js';

/** A bill of the order is made and paid, and its postback has come. */
export async function pay(bed: Bed, orderId: string): Promise<void> {
  const { billId } = await bed.host.payments.createBill({ orderId, amount: '10' });
  await bed.sandbox.pay(billId);
  await bed.sandbox.settled();
}
