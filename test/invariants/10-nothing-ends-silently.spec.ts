import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentReview, OnPaymentSucceeded, type PaymentReviewEvent } from 'nestjs-payment-acceptance';
import { startHarness, type Harness } from '../support/harness.js';
import { postJson, postbackFields } from '../support/http.js';

let harness: Harness;

describe('invariant 10: nothing ends silently, and nothing forged wakes a person', () => {
  afterEach(() => harness.close());

  test('a delivery without attempts left is a dead letter with the last error', async () => {
    @Injectable()
    class Broken {
      @OnPaymentSucceeded({ consumer: 'broken' })
      take(): Promise<void> {
        return Promise.reject(new Error('always'));
      }
    }
    harness = await startHarness({ providers: [Broken], options: { deliveries: { maxAttempts: 3 } } });
    const { billId } = await harness.host.payments.createBill({ orderId: 'dead', amount: '10' });
    await harness.sandbox.pay(billId);
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await harness.settle();
      harness.clock.advance(10_000);
    }
    expect((await harness.host.ledger()).events[0]!.deliveries).toEqual([
      { consumer: 'broken', state: 'DEAD', attempts: 3, lastError: 'Error: always' },
    ]);
  });

  test('an underpaid bill has an open review and a payment.review event, but no payment.succeeded', async () => {
    const reviews: PaymentReviewEvent[] = [];
    @Injectable()
    class Desk {
      @OnPaymentReview({ consumer: 'desk' })
      look(event: PaymentReviewEvent): Promise<void> {
        reviews.push(event);
        return Promise.resolve();
      }
    }
    harness = await startHarness({ providers: [Desk] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'short', amount: '10' });
    const { payment } = await harness.sandbox.pay(billId, { amount: '9.99' });
    await harness.settle();
    const ledger = await harness.host.ledger();
    expect(ledger.reviews).toMatchObject([
      { reason: 'underpaid', state: 'OPEN', paymentId: payment.id, detail: { listed: { amount: '9.99' } } },
    ]);
    expect(reviews).toMatchObject([{ reason: 'underpaid', paymentId: payment.id, reviewId: ledger.reviews[0]!.id }]);
    expect(ledger.events.map(({ name }) => name)).toEqual(['payment.review']);
  });

  test('an event that no consumer takes is kept', async () => {
    harness = await startHarness();
    const { billId } = await harness.host.payments.createBill({ orderId: 'unheard', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect((await harness.host.ledger()).events).toMatchObject([{ name: 'payment.succeeded', deliveries: [] }]);
  });

  test('a bill whose payments the service does not list any more becomes a review, once', async () => {
    harness = await startHarness();
    const { billId } = await harness.host.payments.createBill({ orderId: 'crowded', amount: '10' });
    await harness.sandbox.setFaults({ requests: { tooManyPayments: 1 } });
    for (let check = 0; check < 2; check += 1) {
      harness.clock.advance(120_000);
      await harness.settle();
    }
    expect((await harness.host.ledger()).reviews).toMatchObject([
      { billId, reason: 'too-many-payments', state: 'OPEN' },
    ]);
  });

  test("forged postbacks open no review and emit no event, only notes in the bill's history", async () => {
    harness = await startHarness();
    const { billId } = await harness.host.payments.createBill({ orderId: 'target', amount: '10' });
    for (const Status of ['SUCCESS', 'FAIL', 'OVERPAID']) {
      const fields = postbackFields({ InvId: 'other', OutSum: '99999.00', TrsId: billId, Status }, 'wrong-token');
      await postJson(`${harness.host.url}/postback/payment`, fields);
    }
    await harness.settle();
    const { callbacks, reviews, events } = await harness.host.ledger();
    expect(callbacks.map(({ status, digest }) => [status, digest]).sort()).toEqual([
      ['FAIL', 'mismatch'],
      ['OVERPAID', 'mismatch'],
      ['SUCCESS', 'mismatch'],
    ]);
    expect([reviews, events]).toEqual([[], []]);
  });
});
