import { Injectable } from '@nestjs/common';
import {
  PaymentNonRetryableError,
  OnPaymentFailed,
  OnPaymentSucceeded,
  PaymentUnknownOutcomeError,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { Effect, type Harness } from '../../support/harness.js';
import type { EntityManager } from 'typeorm';

/** Takes payments; failed ones only once `mended`, so that they are dead letters before. */
@Injectable()
export class Bookkeeper {
  mended = false;

  @OnPaymentSucceeded({ consumer: 'orders' })
  async paid(event: PaymentSucceededEvent, context: PaymentEventContext<EntityManager>): Promise<void> {
    await this.write(event, context);
  }

  @OnPaymentFailed({ consumer: 'orders' })
  async failed(event: PaymentFailedEvent, context: PaymentEventContext<EntityManager>): Promise<void> {
    if (!this.mended) throw new PaymentNonRetryableError('this order is unknown here');
    await this.write(event, context);
  }

  private async write(
    { name, paymentId, orderId }: PaymentSucceededEvent | PaymentFailedEvent,
    { manager }: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
  }
}

/** Ids of what a shop has; orders are named after the shop: `main-paid`, `main-short`, … */
export interface Records {
  /** Our bill of the order `…-paid`. */
  readonly paid: string;
  /** The open review `underpaid` of the order `…-short`, and our bill. */
  readonly review: string;
  readonly short: string;
  /** The dead letter of the order `…-dead`, and our bill. */
  readonly deadLetter: string;
  readonly dead: string;
  /** Our bill of the order `…-lost`, whose outcome is unknown, and the id of the bill that the service has made. */
  readonly lost: string;
  readonly lostBill: string;
}

/** One record of each kind that operators see and act on, in that shop. */
export async function record(harness: Harness, shop: 'main' | 'eu'): Promise<Records> {
  const payments = harness.host.payments.shop(shop);
  const pay = async (orderId: string, input: Parameters<Harness['sandbox']['pay']>[1] = {}) => {
    const { billId, intentId } = await payments.createBill({ orderId, amount: '100.05', description: 'Two cups' });
    await harness.sandbox.pay(billId, input);
    return { billId, intentId };
  };
  const paid = await pay(`${shop}-paid`);
  const short = await pay(`${shop}-short`, { amount: '99.00' });
  const dead = await pay(`${shop}-dead`, { outcome: 'fail' });
  await harness.settle();
  await harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
  const lost: unknown = await payments.createBill({ orderId: `${shop}-lost`, amount: '7' }).catch((e: unknown) => e);
  await harness.sandbox.clearFaults();
  if (!(lost instanceof PaymentUnknownOutcomeError)) throw new Error('The answer was not lost.');
  const lostBill = harness.sandbox.bills().find(({ custom }) => custom === lost.intentId)!.id;
  await harness.sandbox.pay(lostBill); // its postback waits for the bill
  await harness.sandbox.settled();
  const { reviews } = await harness.host.ledger();
  const [letter] = await harness.host.app.get(PaymentOperations).deadLetters({ orderId: `${shop}-dead` });
  return {
    paid: paid.intentId,
    review: reviews.find(({ orderId }) => orderId === `${shop}-short`)!.id,
    short: short.intentId,
    deadLetter: letter!.deliveryId,
    dead: dead.intentId,
    lost: lost.intentId,
    lostBill,
  };
}

/** Deletes all records, so that each test starts from none. */
export async function forget(harness: Harness): Promise<void> {
  const tables = ['bill', 'payment', 'callback', 'event', 'delivery', 'review', 'operator_action', 'lost_bill'];
  const names = tables.map((name) => `payment_acceptance.${name}`).join(', ');
  await harness.host.dataSource.query(`TRUNCATE ${names}, payment_acceptance.shop_order, effect`);
  harness.host.app.get(Bookkeeper).mended = false;
}
