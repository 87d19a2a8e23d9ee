import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnEvent } from '@nestjs/event-emitter';
import { OnPaymentSucceeded, type PaymentEventContext, type PaymentSucceededEvent } from 'nestjs-payment-acceptance';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import type { EntityManager } from 'typeorm';

let harness: Harness;

const pay = async (orderId: string) => {
  const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
  await harness.sandbox.pay(billId);
  await harness.settle();
};
const deliveries = async () => (await harness.host.ledger()).events.flatMap((event) => event.deliveries);

describe('invariant 7: events commit with the settlement, one delivery for each consumer', () => {
  afterEach(() => harness.close());

  test('a failing e-mail handler neither blocks nor repeats the order update', async () => {
    @Injectable()
    class Mailer {
      @OnPaymentSucceeded({ consumer: 'mail' })
      send(): Promise<void> {
        return Promise.reject(new Error('the mail server is down'));
      }
    }
    harness = await startHarness({ providers: [EffectWriter, Mailer] });
    await pay('mailed');
    harness.clock.advance(2_000);
    await harness.settle();
    expect(await deliveries()).toMatchObject([
      { consumer: 'mail', state: 'PENDING', attempts: 2, lastError: 'Error: the mail server is down' },
      { consumer: 'orders', state: 'DONE', attempts: 1 },
    ]);
    expect((await harness.effects()).length).toBe(1);
  });

  test('a durable handler that throws twice and then succeeds has one effect', async () => {
    let calls = 0;
    @Injectable()
    class Unsteady {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async take(
        { name, paymentId, orderId }: PaymentSucceededEvent,
        { manager }: PaymentEventContext<EntityManager>,
      ): Promise<void> {
        await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
        calls += 1;
        if (calls < 3) throw new Error('not yet');
      }
    }
    harness = await startHarness({ providers: [Unsteady] });
    await pay('unsteady');
    for (const pauseMs of [1_000, 2_000]) {
      harness.clock.advance(pauseMs);
      await harness.settle();
    }
    expect(calls).toBe(3);
    expect((await harness.effects()).length).toBe(1);
    expect(await deliveries()).toMatchObject([{ state: 'DONE', attempts: 3 }]);
  });

  test("an instance without a handler's code still creates its delivery, and does not claim it", async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    const other = await harness.start({ providers: [] });
    const { billId } = await other.payments.createBill({ orderId: 'rolling', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    expect(await other.confirmer.runOnce()).toBe(1);
    expect(await other.deliveries.runOnce()).toBe(0);
    expect(await deliveries()).toMatchObject([{ consumer: 'orders', state: 'PENDING', attempts: 0 }]);
    await harness.settle();
    expect((await harness.effects()).length).toBe(1);
  });

  test('a consumer takes only the shops it names', async () => {
    @Injectable()
    class EuOnly {
      @OnPaymentSucceeded({ consumer: 'eu-books', shops: ['eu'] })
      async take(
        { name, paymentId, orderId }: PaymentSucceededEvent,
        { manager }: PaymentEventContext<EntityManager>,
      ): Promise<void> {
        await manager.insert(Effect, { consumer: 'eu-books', event: name, paymentId, orderId });
      }
    }
    harness = await startHarness({ providers: [EuOnly] });
    await pay('in-main');
    const { billId } = await harness.host.payments.shop('eu').createBill({ orderId: 'in-eu', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect((await harness.effects()).map(({ orderId }) => orderId)).toEqual(['in-eu']);
    expect((await harness.host.ledger()).events.map((event) => [event.orderId, event.deliveries.length])).toEqual([
      ['in-eu', 1],
      ['in-main', 0],
    ]);
  });

  test('an @OnEvent listener that throws is retried, with all listeners of its event', async () => {
    const heard: string[] = [];
    @Injectable()
    class Listeners {
      @OnEvent('payment.succeeded')
      first({ orderId }: PaymentSucceededEvent): void {
        heard.push(`first ${orderId}`);
      }

      @OnEvent('payment.succeeded')
      second({ orderId }: PaymentSucceededEvent): void {
        heard.push(`second ${orderId}`);
        if (heard.length < 3) throw new Error('the listener fell over');
      }
    }
    harness = await startHarness({ providers: [Listeners] });
    await pay('listened');
    expect(heard).toEqual(['first listened', 'second listened']);
    const [delivery] = await deliveries();
    expect(delivery).toMatchObject({ consumer: 'event-emitter', state: 'PENDING', attempts: 1 });
    expect(delivery!.lastError).toContain(
      '1 of 2 listeners of payment.succeeded failed: Error: the listener fell over',
    );
    harness.clock.advance(1_000);
    await harness.settle();
    expect(heard).toEqual(['first listened', 'second listened', 'first listened', 'second listened']);
    expect(await deliveries()).toMatchObject([{ state: 'DONE', attempts: 2 }]);
  });
});
