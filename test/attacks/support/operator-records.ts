import { Injectable } from '@nestjs/common';
import {
  PaymentNonRetryableError,
  OnPaymentFailed,
  OnPaymentSucceeded,
  PaymentUnknownOutcomeError,
} from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { type Harness } from '../../support/harness.js';

/** Records of one shop that an operator can act on. */
export interface Seeded {
  readonly intentId: string;
  readonly billId: string;
  readonly reviewId: string;
  readonly deadLetterId: string;
}

/** Creates one of everything that an operator acts on. Order ids start with the shop's name. */
export async function seed(harness: Harness, shop: 'main' | 'eu'): Promise<Seeded> {
  const payments = harness.host.payments.shop(shop);
  const pay = async (orderId: string, input: Parameters<Harness['sandbox']['pay']>[1]) => {
    const { billId } = await payments.createBill({ orderId, amount: '10' });
    await harness.sandbox.pay(billId, input);
  };
  await pay(`${shop}-short`, { amount: '9.00' });
  await pay(`${shop}-dead`, { outcome: 'fail' });
  await harness.settle();
  await harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
  const lost: unknown = await payments.createBill({ orderId: `${shop}-lost`, amount: '10' }).catch((e: unknown) => e);
  await harness.sandbox.clearFaults();
  if (!(lost instanceof PaymentUnknownOutcomeError)) throw new Error('The answer was not lost.');
  const billId = harness.sandbox.bills().find(({ orderId }) => orderId === `${shop}-lost`)!.id;
  await harness.sandbox.pay(billId); // its postback waits for the bill
  await harness.sandbox.settled();
  await pay(`${shop}-pending`, {});
  await harness.sandbox.settled();
  await harness.host.confirmer.runOnce(); // its event is not delivered yet
  const review = (await harness.host.ledger()).reviews.find(({ orderId }) => orderId === `${shop}-short`)!;
  const [letter] = await harness.host.app.get(PaymentOperations).deadLetters({ orderId: `${shop}-dead` });
  return { intentId: lost.intentId, billId, reviewId: review.id, deadLetterId: letter!.deliveryId };
}

/** Handles nothing: failures become dead letters, successes stay pending. */
@Injectable()
export class Refusing {
  @OnPaymentFailed({ consumer: 'orders' })
  never(): void {
    throw new PaymentNonRetryableError('this order is unknown here');
  }

  @OnPaymentSucceeded({ consumer: 'orders' })
  notNow(): void {
    throw new Error('not now');
  }
}
