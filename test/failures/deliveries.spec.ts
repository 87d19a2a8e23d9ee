import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import {
  PaymentNonRetryableError,
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { DeliveryWorker } from '../../libs/payment-acceptance/src/events/delivery.worker.js';
import { DeliveryStore } from '../../libs/payment-acceptance/src/events/storage/delivery.store.js';
import { Effect, startHarness, type Harness } from '../support/harness.js';
import { onPostgres } from '../support/database.js';
import type { EntityManager } from 'typeorm';

let harness: Harness;

@Injectable()
class Both {
  @OnPaymentFailed({ consumer: 'orders' })
  failed(): Promise<void> {
    return Promise.reject(new Error('not in this release'));
  }

  @OnPaymentSucceeded({ consumer: 'orders' })
  succeeded(): Promise<void> {
    return Promise.reject(new Error('not in this release'));
  }
}

@Injectable()
class OnlySuccess {
  @OnPaymentSucceeded({ consumer: 'orders' })
  async succeeded(
    { name, paymentId, orderId }: { name: string; paymentId: string; orderId: string },
    { manager }: PaymentEventContext<EntityManager>,
  ) {
    await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
  }
}

describe('deliveries during changes and failures', () => {
  afterEach(() => harness.close());

  test('queues are freed although abandoned attempts cannot be ended', async () => {
    harness = await startHarness({ providers: [OnlySuccess] });
    const { app, deliveries } = harness.host;
    const store = app.get(DeliveryStore, { strict: false });
    await deliveries.runOnce();
    jest.spyOn(store, 'deadLetterExhausted').mockRejectedValue(new Error('statement timeout'));
    const freeing = jest.spyOn(store, 'queuesBehind');
    harness.clock.advance(60_000);
    const worker = app.get(DeliveryWorker, { strict: false });
    await expect(worker.maintain()).rejects.toThrow('statement timeout');
    await worker.maintain();
    expect(freeing).toHaveBeenCalled();
  });

  test('a delivery for a handler removed by a release holds back the later ones for an hour, not for ever', async () => {
    harness = await startHarness({ providers: [Both] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'removed', amount: '10' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
    const next = await harness.start({ providers: [OnlySuccess] });
    expect(await next.deliveries.runOnce()).toBe(0);
    harness.clock.advance(3_600_001);
    expect(await next.deliveries.runOnce()).toBe(1);
    expect(await harness.effects()).toMatchObject([{ event: 'payment.succeeded' }]);
    const { events } = await harness.host.ledger();
    expect(events.find(({ name }) => name === 'payment.failed')!.deliveries).toMatchObject([{ state: 'PENDING' }]);
  });

  test('a handler that a release has removed goes on getting deliveries, however long nobody hosts it', async () => {
    harness = await startHarness({ providers: [Both] });
    const next = await harness.start({ providers: [OnlySuccess] });
    await harness.host.app.close();
    harness.clock.advance(30 * 86_400_000);
    const { billId } = await next.payments.createBill({ orderId: 'unhosted', amount: '10' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.settled();
    harness.clock.advance(60_000);
    await next.confirmer.runOnce();
    expect((await next.ledger()).events).toMatchObject([
      { name: 'payment.failed', deliveries: [{ state: 'PENDING' }] },
    ]);
  });

  test('a handler that swallows a failed statement is not done, and is called again', async () => {
    let failing = true;
    @Injectable()
    class Swallowing {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async take(
        { name, paymentId, orderId }: PaymentSucceededEvent,
        { manager }: PaymentEventContext<EntityManager>,
      ): Promise<void> {
        await manager.insert(Effect, { consumer: 'orders', event: name, paymentId, orderId });
        if (failing) await manager.query('SELECT 1 FROM nowhere').catch(() => undefined);
      }
    }
    harness = await startHarness({ providers: [Swallowing] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'swallowed', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    const delivery = async () => (await harness.host.ledger()).events[0]!.deliveries[0]!;
    expect(await delivery()).toMatchObject({ state: 'PENDING', attempts: 1 });
    expect((await delivery()).lastError).toContain('A statement of the transaction has failed');
    failing = false;
    harness.clock.advance(2_000);
    await harness.settle();
    expect(await delivery()).toMatchObject({ state: 'DONE', attempts: 2 });
    expect(await harness.effects()).toHaveLength(1);
  });

  test('an instance frozen in a last attempt does not stop the deliveries of the others', async () => {
    harness = await startHarness({ providers: [OnlySuccess], options: { deliveries: { maxAttempts: 1 } } });
    for (const orderId of ['frozen', 'free']) {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
      await harness.host.confirmer.runOnce();
      if (orderId === 'free') break;
      await harness.host.dataSource.query(
        `UPDATE payment_acceptance.delivery SET attempts = 1, lease_until = now(), lease_token = gen_random_uuid()`,
      );
    }
    const frozen = harness.host.dataSource.createQueryRunner();
    await frozen.startTransaction('READ COMMITTED');
    await frozen.query(`SELECT 1 FROM payment_acceptance.delivery WHERE attempts = 1 FOR UPDATE`);
    const failed = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    expect(await harness.host.deliveries.runOnce()).toBe(1);
    expect(await harness.effects()).toMatchObject([{ orderId: 'free' }]);
    // Nor does the search for dead letters wait for it, and then fail.
    expect(failed).not.toHaveBeenCalled();
    failed.mockRestore();
    await frozen.rollbackTransaction();
    await frozen.release();
    harness.clock.advance(30_000);
    expect(await harness.host.deliveries.runOnce()).toBe(0);
    const states = (await harness.host.ledger()).events.flatMap(({ deliveries }) =>
      deliveries.map(({ state }) => state),
    );
    expect(states.sort()).toEqual(['DEAD', 'DONE']);
  });

  onPostgres(test)('a delivery that somebody has locked is passed over, and the others are handed over', async () => {
    // If the claim waits after all, it fails soon.
    harness = await startHarness({
      providers: [OnlySuccess],
      through: (url) => `${url}?options=-c%20lock_timeout%3D3s`,
    });
    for (const orderId of ['locked', 'free']) {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId);
    }
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
    const other = harness.host.dataSource.createQueryRunner();
    await other.startTransaction();
    await other.query(
      `SELECT 1 FROM payment_acceptance.delivery WHERE intent_id = (
         SELECT intent_id FROM payment_acceptance.bill WHERE order_id = 'locked') FOR UPDATE`,
    );
    expect(await harness.host.deliveries.runOnce()).toBe(1);
    expect(await harness.effects()).toMatchObject([{ orderId: 'free' }]);
    await other.rollbackTransaction();
    await other.release();
    await harness.settle();
    expect(await harness.effects()).toHaveLength(2);
  });

  test('a dead letter that is replayed while a later event is being handled waits for it, and then says late', async () => {
    let letGo = (): void => undefined;
    let begun = (): void => undefined;
    const running = new Promise<void>((resolve) => (begun = resolve));
    const gate = new Promise<void>((resolve) => (letGo = resolve));
    const log: string[] = [];
    let failures = 1;
    @Injectable()
    class Slow {
      @OnPaymentFailed({ consumer: 'orders' })
      failed({ late }: PaymentFailedEvent): Promise<void> {
        failures -= 1;
        if (failures >= 0) return Promise.reject(new PaymentNonRetryableError('not yet'));
        log.push(`failed, late: ${String(late)}`);
        return Promise.resolve();
      }

      @OnPaymentSucceeded({ consumer: 'orders' })
      async succeeded(): Promise<void> {
        begun();
        await gate;
        log.push('succeeded');
      }
    }
    harness = await startHarness({ providers: [Slow], instances: 2 });
    const { billId } = await harness.host.payments.createBill({ orderId: 'beside', amount: '10' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
    await harness.host.deliveries.runOnce();
    const first = harness.host.deliveries.runOnce();
    await running;
    await harness.host.app.get(PaymentOperations).replay({}, { operator: 'ann' });
    expect(await harness.instances[1]!.deliveries.runOnce()).toBe(0);
    letGo();
    await first;
    await harness.settle();
    expect(log).toEqual(['succeeded', 'failed, late: true']);
  });

  test("a connection destroyed after a handler's time-out is not used again", async () => {
    @Injectable()
    class Slow {
      @OnPaymentSucceeded({ consumer: 'orders' })
      async take(_event: unknown, { manager }: PaymentEventContext<EntityManager>): Promise<void> {
        await manager.query('SELECT pg_sleep(60)');
      }
    }
    harness = await startHarness({ providers: [Slow], options: { deliveries: { timeoutMs: 150, maxAttempts: 8 } } });
    const { billId } = await harness.host.payments.createBill({ orderId: 'destroyed', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      const { attempts, lastError } = (await harness.host.ledger()).events[0]!.deliveries[0]!;
      expect([attempts, lastError]).toEqual([attempt, expect.stringContaining('did not end within 150 ms')]);
      await Promise.all(Array.from({ length: 10 }, () => harness.host.dataSource.query('SELECT 1')));
      harness.clock.advance(600_000);
      await harness.host.deliveries.runOnce();
    }
  });
});
