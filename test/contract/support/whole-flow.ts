import { PaymentReviews } from 'nestjs-payment-acceptance/operations';
import type { Harness } from '../../support/harness.js';

/** The events of {@link wholeFlow}, in the order of their names. */
export const FLOW_EVENTS = [
  'bill.expired',
  'payment.failed',
  'payment.review',
  'payment.review',
  'payment.succeeded',
  'payment.succeeded',
  'payment.succeeded',
];

/** Every kind of event: bills that are paid exactly, too little and accepted, too much, and not at all. */
export async function wholeFlow(harness: Harness): Promise<void> {
  const create = async (orderId: string): Promise<string> =>
    (await harness.host.payments.createBill({ orderId, amount: '100.05' })).billId;
  await create('never');
  const exact = await create('exact');
  await harness.sandbox.pay(exact, { outcome: 'fail' });
  await harness.sandbox.pay(exact);
  await harness.sandbox.pay(await create('less'), { amount: '99.00' });
  await harness.sandbox.pay(await create('more'), { amount: '101.00' });
  await harness.settle();
  const underpaid = (await harness.host.ledger()).reviews.find(({ reason }) => reason === 'underpaid');
  if (!underpaid) throw new Error('There is no review of the payment that was too small.');
  await harness.host.app.get(PaymentReviews).accept(underpaid.id, { operator: 'ann' });
  harness.clock.advance(3 * 86_400_000);
  await harness.settle();
}
