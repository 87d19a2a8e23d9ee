import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable, Logger, type Type } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentEventContext,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { Effect, startHarness, type Harness, type Instance } from '../support/harness.js';
import { ON_MARIADB } from '../support/database.js';
import type { EntityManager } from 'typeorm';

const HEARTBEAT_MS = 60_000;
const ABSENT_MS = 3_600_000;

let harness: Harness;

describe('rolling releases', () => {
  afterEach(async () => {
    jest.restoreAllMocks();
    await harness.close();
  });

  /** A release in which `orders` handles successes of these shops. Its effects show which release handled one. */
  function release(consumer: string, shops?: string[]): Type {
    @Injectable()
    class Release {
      @OnPaymentSucceeded({ consumer: 'orders', ...(shops && { shops }) })
      async take(
        { name, paymentId, orderId }: PaymentSucceededEvent,
        { manager }: PaymentEventContext<EntityManager>,
      ): Promise<void> {
        await manager.insert(Effect, { consumer, event: name, paymentId, orderId });
      }
    }
    return Release;
  }

  const pay = async (orderId: string, shop = 'eu', outcomes: ('success' | 'fail')[] = ['success']) => {
    const { billId } = await harness.host.payments.shop(shop).createBill({ orderId, amount: '10' });
    for (const outcome of outcomes) await harness.sandbox.pay(billId, { outcome });
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
  };
  const takenBy = async () => (await harness.effects()).map(({ consumer, orderId }) => `${orderId} by ${consumer}`);
  const deliveries = async () => (await harness.host.ledger()).events.flatMap((event) => event.deliveries);
  /** Advances a minute, so that it renews its registration; returns what it has delivered. */
  const beat = (instance: Instance) => {
    harness.clock.advance(HEARTBEAT_MS);
    return instance.deliveries.runOnce();
  };

  describe('a release that adds a shop to a consumer', () => {
    for (const [what, shops] of [
      ['one more', ['main', 'eu']],
      ['all', undefined],
    ] as const) {
      test(`a release that adds a shop to a consumer loses none of its events while older instances run: ${what}`, async () => {
        harness = await startHarness({ providers: [release('before', ['main'])] });
        const next = await harness.start({ providers: [release('next', shops && [...shops])] });
        await beat(harness.host);
        await harness.start({ providers: [release('before', ['main'])] });
        await pay('new-shop');
        await pay('old-shop', 'main');
        // The previous release has no code for the new shop, whatever is pending.
        expect(await beat(harness.host)).toBe(1);
        expect(await takenBy()).toEqual(['old-shop by before']);
        expect(await beat(next)).toBe(1);
        expect(await takenBy()).toEqual(['old-shop by before', 'new-shop by next']);
      });
    }
  });

  describe('a release that takes a shop from a consumer', () => {
    test('a release that takes a shop from a consumer leaves its events to instances that still name it', async () => {
      harness = await startHarness({ providers: [release('next', ['main'])] });
      const before = await harness.start({ providers: [release('before', ['main', 'eu'])] });
      await before.app.close();
      await pay('waiting');
      await pay('going-on', 'main');
      for (let hour = 0; hour < 3; hour += 1) {
        harness.clock.advance(ABSENT_MS);
        await harness.host.deliveries.runOnce();
      }
      expect(await takenBy()).toEqual(['going-on by next']);
      expect(await deliveries()).toContainEqual(expect.objectContaining({ state: 'PENDING', attempts: 0 }));
      const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
      const said = () =>
        warned.mock.calls.map(([line]) => String(line)).filter((line) => line.startsWith('consumer-omits-shops: '));
      await harness.start({ providers: [release('next', ['main'])] });
      expect(said()).toEqual([expect.stringMatching(/consumer "orders" of payment.succeeded .* shops "eu"\./)]);
      const again = await harness.start({ providers: [release('before', ['main', 'eu'])] });
      expect(said()).toHaveLength(1);
      await again.deliveries.runOnce();
      expect(await takenBy()).toEqual(['going-on by next', 'waiting by before']);
    });

    test("a consumer gets no deliveries of a shop once a person has removed it from the consumer's row", async () => {
      harness = await startHarness({ providers: [release('next', ['main'])] });
      await (await harness.start({ providers: [release('before', ['main', 'eu'])] })).app.close();
      const left = ON_MARIADB ? '["main"]' : '{main}';
      await harness.host.dataSource.query(`UPDATE payment_acceptance.consumer SET shops = $1 WHERE name = 'orders'`, [
        left,
      ]);
      await beat(harness.host);
      await pay('of-nobody');
      await pay('going-on', 'main');
      expect(await deliveries()).toMatchObject([{ consumer: 'orders', state: 'PENDING' }]);
      await harness.settle();
      expect(await takenBy()).toEqual(['going-on by next']);
    });

    test('deliveries of a removed shop hold back later ones of their bill for an hour, not for ever', async () => {
      @Injectable()
      class Before {
        @OnPaymentFailed({ consumer: 'orders' })
        async failed(
          { name, paymentId, orderId }: PaymentFailedEvent,
          { manager }: PaymentEventContext<EntityManager>,
        ): Promise<void> {
          await manager.insert(Effect, { consumer: 'before', event: name, paymentId, orderId });
        }
      }
      @Injectable()
      class Next extends release('next') {
        @OnPaymentFailed({ consumer: 'orders', shops: ['main'] })
        failed(): Promise<void> {
          return Promise.reject(new Error('of no shop but main'));
        }
      }
      harness = await startHarness({ providers: [Next] });
      await (await harness.start({ providers: [Before] })).app.close();
      await pay('twice', 'eu', ['fail', 'success']);
      expect(await deliveries()).toHaveLength(2);
      expect(await harness.host.deliveries.runOnce()).toBe(0);
      harness.clock.advance(ABSENT_MS + 1);
      expect(await harness.host.deliveries.runOnce()).toBe(1);
      expect(await takenBy()).toEqual(['twice by next']);
    });
  });

  test('an instance reports that it is there although its clock was set back', async () => {
    harness = await startHarness({ providers: [release('orders')] });
    const lastSeen = async () =>
      (
        await harness.host.dataSource.query<[{ seen: string }]>(
          `SELECT last_seen_at::text AS seen FROM payment_acceptance.consumer`,
        )
      )[0].seen;
    harness.clock.advance(ABSENT_MS);
    await harness.host.deliveries.runOnce();
    const before = await lastSeen();
    harness.clock.step(-ABSENT_MS);
    harness.clock.advance(ABSENT_MS);
    await harness.host.deliveries.runOnce();
    expect((await lastSeen()) > before).toBe(true);
  });
});
