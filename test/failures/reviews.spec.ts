import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentOperatorActionError, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import type { EntityManager } from 'typeorm';

const seen: (PaymentSucceededEvent | PaymentFailedEvent)[] = [];

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  async take(
    event: PaymentSucceededEvent | PaymentFailedEvent,
    { manager }: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    seen.push(event);
    const { name, paymentId, orderId } = event;
    await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
  }
}

let harness: Harness;
let reviews: PaymentReviews;

describe('operators', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [Orders], options: { http: { attempts: 1 } } });
    reviews = harness.host.app.get(PaymentReviews);
  });
  afterAll(() => harness.close());

  const billOf = async (orderId: string) =>
    (await harness.host.ledger()).bills.find((bill) => bill.orderId === orderId)!;
  const reviewOf = async (orderId: string) => (await harness.host.ledger()).reviews.find((r) => r.orderId === orderId)!;
  const eventsOf = (orderId: string) => seen.filter((event) => event.orderId === orderId);

  describe('reviews', () => {
    const underpaid = async (orderId: string) => {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId, { amount: '9.00' });
      await harness.settle();
      return reviewOf(orderId);
    };

    test("an accepted review makes one payment.succeeded with the operator's name, and a paid bill", async () => {
      const { id } = await underpaid('accepted');
      await reviews.accept(id, { operator: 'ann\0', note: 'a loyal customer' });
      await harness.settle();
      expect(eventsOf('accepted')).toMatchObject([{ amount: '9.00', acceptedBy: 'ann', firstForOrder: true }]);
      expect(await billOf('accepted')).toMatchObject({ state: 'PAID' });
      expect(await reviewOf('accepted')).toMatchObject({ state: 'ACCEPTED' });
      await expect(reviews.accept(id, { operator: 'ann' })).rejects.toBeInstanceOf(PaymentOperatorActionError);
      harness.clock.advance(7 * 3_600_000);
      await harness.settle();
      expect(eventsOf('accepted').length).toBe(1);
      expect((await harness.host.ledger()).reviews.filter(({ orderId }) => orderId === 'accepted').length).toBe(1);
    });

    test('a review accepted by ten operators at once makes one event', async () => {
      const { id } = await underpaid('contested');
      const attempts = await Promise.allSettled(
        Array.from({ length: 10 }, (_, operator) => reviews.accept(id, { operator: `operator ${operator}` })),
      );
      expect(attempts.filter(({ status }) => status === 'fulfilled').length).toBe(1);
      await harness.settle();
      expect(eventsOf('contested').length).toBe(1);
    });

    test('two reviews of one order accepted at the same moment make one first payment', async () => {
      await underpaid('accepted-twice');
      const { billId } = await harness.host.payments.createBill(
        { orderId: 'accepted-twice', amount: '10' },
        { newAttempt: true },
      );
      await harness.sandbox.pay(billId, { amount: '9.00' });
      await harness.settle();
      const both = (await reviews.list()).filter(({ orderId }) => orderId === 'accepted-twice');
      expect(both).toHaveLength(2);
      await Promise.all(both.map(({ id }) => reviews.accept(id, { operator: 'ann' })));
      await harness.settle();
      const firsts = eventsOf('accepted-twice').map((event) => 'firstForOrder' in event && event.firstForOrder);
      expect(firsts.sort()).toEqual([false, true]);
    });

    test('a dismissed review makes no event, and leaves the bill open', async () => {
      const { id } = await underpaid('dismissed');
      await reviews.dismiss(id, { operator: 'ben\0\ud800' });
      await harness.settle();
      expect(eventsOf('dismissed')).toEqual([]);
      expect(await billOf('dismissed')).toMatchObject({ state: 'OPEN' });
      expect(await reviewOf('dismissed')).toMatchObject({ state: 'DISMISSED' });
    });

    test('a review of a payment in another currency needs the operator to state the amount', async () => {
      const { billId } = await harness.host.payments.createBill({ orderId: 'dollars', amount: '10' });
      await harness.sandbox.pay(billId, { currency: 'USD' });
      await harness.settle();
      const { id } = await reviewOf('dollars');
      await expect(reviews.accept(id, { operator: 'ann' })).rejects.toThrow(/no usable amount in RUB/);
      expect(await reviewOf('dollars')).toMatchObject({ state: 'OPEN' });
      await reviews.accept(id, { operator: 'ann', amount: '10.00' });
      await harness.settle();
      expect(eventsOf('dollars')).toMatchObject([
        { amount: '10.00', amountReceived: null, currency: 'RUB', acceptedBy: 'ann' },
      ]);
      expect(eventsOf('dollars')[0]).not.toHaveProperty('paymentCurrency');
    });

    test('a review of a bill does not accept a payment of another order, which stays open', async () => {
      const other = await harness.host.payments.createBill({ orderId: 'owner', amount: '10' });
      const { payment } = await harness.sandbox.pay(other.billId, { card: '4000 0000 0000 0069' });
      harness.clock.advance(60_000);
      await harness.settle();
      await harness.host.payments.createBill({ orderId: 'thief', amount: '10' });
      await harness.sandbox.setFaults({ requests: { tooManyPayments: 1 } });
      harness.clock.advance(60_000);
      await harness.settle();
      await harness.sandbox.clearFaults();
      const { id } = await reviewOf('thief');
      const accept = (paymentId: string) => reviews.accept(id, { operator: 'ann', amount: '10', paymentId });
      await expect(accept(payment.id)).rejects.toThrow(/another bill/);
      await expect(accept(` ${payment.id}`)).rejects.toThrow(/without spaces/);
      expect(await reviewOf('thief')).toMatchObject({ state: 'OPEN' });
      await harness.sandbox.complete(payment.id, { outcome: 'success' });
      harness.clock.advance(600_000);
      await harness.settle();
      expect(eventsOf('owner')).toMatchObject([{ paymentId: payment.id }]);
      expect(eventsOf('thief')).toEqual([]);
    });

    test('a payment that contradicts its accepted review is another review', async () => {
      const { billId } = await harness.host.payments.createBill({ orderId: 'hasty', amount: '10' });
      const { payment } = await harness.sandbox.pay(billId, { card: '4000 0000 0000 0069' });
      await harness.sandbox.setFaults({ requests: { tooManyPayments: 1 } });
      harness.clock.advance(60_000);
      await harness.settle();
      await harness.sandbox.clearFaults();
      await reviews.accept((await reviewOf('hasty')).id, { operator: 'ann', amount: '10', paymentId: payment.id });
      await harness.sandbox.complete(payment.id, { outcome: 'fail' });
      harness.clock.advance(7 * 3_600_000);
      await harness.settle();
      const reasons = (await harness.host.ledger()).reviews.filter((r) => r.orderId === 'hasty').map((r) => r.reason);
      expect(reasons.sort()).toEqual(['payment-changed', 'too-many-payments']);
      expect(eventsOf('hasty').length).toBe(1);
    });

    test('a review for 400 too_many_payments is accepted with the payment that the operator names', async () => {
      const { billId } = await harness.host.payments.createBill({ orderId: 'crowded', amount: '10' });
      await harness.sandbox.setFaults({ requests: { tooManyPayments: 1 } });
      harness.clock.advance(60_000);
      await harness.settle();
      const { id } = await reviewOf('crowded');
      await expect(reviews.accept(id, { operator: 'ann', amount: '10' })).rejects.toThrow(/paymentId/);
      await reviews.accept(id, { operator: 'ann', amount: '10', paymentId: 'seen-at-the-service' });
      await harness.settle();
      await harness.sandbox.clearFaults();
      expect(eventsOf('crowded')).toMatchObject([{ paymentId: 'seen-at-the-service', billId, acceptedBy: 'ann' }]);
    });
  });
});
