import type { Bed } from '../../support/bed.js';

/** A bill of the order is made and paid, and what its events are handed to has had its turn. */
export async function pay(bed: Bed, orderId = 'A-1'): Promise<void> {
  const { billId } = await bed.host.payments.createBill({ orderId, amount: '10' });
  await bed.sandbox.pay(billId);
  await bed.settle();
}
