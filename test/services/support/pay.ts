import type { Bed } from '../../support/bed.js';
import { pay as payBill } from '../../support/pay.js';

/** A bill of the order is made and paid, and what its events are handed to has had its turn. */
export async function pay(bed: Bed, orderId = 'A-1'): Promise<void> {
  await payBill(bed, orderId);
  await bed.settle();
}
