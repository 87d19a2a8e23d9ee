import { PaymentRandom } from 'nestjs-payment-acceptance/testing';
import type { Harness } from '../../support/harness.js';

/** Makes the pause before reconnecting as short as possible. */
export class ShortPauses extends PaymentRandom {
  override fraction = (): number => 0;
}

/** Pays that many orders; their events exist, but none has been delivered. */
export async function pay(harness: Harness, count: number): Promise<string[]> {
  const orderIds = Array.from({ length: count }, (_, index) => `A-${index}`);
  for (const orderId of orderIds) {
    const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId);
  }
  await harness.sandbox.settled();
  while ((await harness.host.confirmer.runOnce()) > 0);
  return orderIds;
}

export async function deliveriesTo(harness: Harness, consumer: string) {
  const { events } = await harness.host.ledger();
  return events.flatMap(({ deliveries }) => deliveries.filter((each) => each.consumer === consumer));
}

/** Lets time pass while the worker of deliveries polls. */
export const passing =
  <T>(harness: Harness, ask: () => T | Promise<T>) =>
  async (): Promise<T> => {
    harness.clock.advance(60_000);
    await harness.host.deliveries.runOnce();
    return ask();
  };
