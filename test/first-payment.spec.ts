import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { Effect, startHarness, type Harness } from './support/harness.js';
import type { EntityManager } from 'typeorm';

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  async take(
    event: PaymentSucceededEvent | PaymentFailedEvent,
    { manager }: PaymentEventContext<EntityManager>,
  ): Promise<void> {
    const { name, paymentId, orderId } = event;
    await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
  }
}

let harness: Harness;

describe('first payment', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [Orders] });
  });
  afterAll(() => harness.close());

  test('a payment goes through bill, postback, check, event and effect', async () => {
    const bill = await harness.host.payments.createBill({ orderId: 'A-1', amount: '100.05' });
    expect(bill.linkPageUrl).toBe(`${harness.sandboxUrl}/transfer/${bill.billId}`);
    const { payment } = await harness.sandbox.pay(bill.billId);
    expect((await harness.effects()).length).toBe(0);
    await harness.settle();
    expect(await harness.effects()).toMatchObject([
      { event: 'payment.succeeded', paymentId: payment.id, orderId: 'A-1' },
    ]);
    const ledger = await harness.host.ledger();
    expect(ledger).toMatchObject({
      bills: [{ state: 'PAID' }],
      payments: [{ amount: '100.05', verdict: 'succeeded' }],
      callbacks: [{ kind: 'postback', digest: 'match', pending: false, corroboration: { order: 'match' } }],
      events: [{ name: 'payment.succeeded', deliveries: [{ consumer: 'orders', state: 'DONE', attempts: 1 }] }],
      reviews: [],
    });
  });

  test('the payer comes back by a 303 to a page that says paid and names the order', async () => {
    const bill = await harness.host.payments.createBill({ orderId: 'A-2', amount: '7' });
    const { redirect } = await harness.sandbox.pay(bill.billId);
    const answer = await fetch(redirect!.url, {
      method: 'POST',
      body: new URLSearchParams(redirect!.fields),
      redirect: 'manual',
    });
    expect(answer.status).toBe(303);
    const page = new URL(answer.headers.get('location')!, redirect!.url);
    expect(await (await fetch(page)).text()).toContain('Checking your payment');
    await harness.settle();
    const shown = await (await fetch(page)).text();
    expect(shown).toContain('Payment received');
    expect(shown).toContain('A-2');
  });
});
