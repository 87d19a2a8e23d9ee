import { afterEach, describe, expect, test } from '@jest/globals';
import { PaymentOperations } from 'nestjs-payment-acceptance';
import { EU_TOKEN, MAIN_TOKEN, moduleOptions, startBed, type Bed } from '../support/bed.js';
import { onPostgres } from '../support/database.js';
import { EffectWriter } from '../support/orders.js';

const MINUTE = 60_000;

let bed: Bed;

describe('shops', () => {
  afterEach(() => bed.close());

  const checks = () => bed.sandbox.requests.filter(({ operation }) => operation === 'payments').length;
  const refused = async () =>
    (await bed.host.app.get(PaymentOperations).shopStates()).filter(({ refusedSince }) => refusedSince !== null);

  describe('the rate of a shop', () => {
    test('holds across instances: no more checks a second than it allows, together', async () => {
      const { shops } = moduleOptions('http://unused');
      bed = await startBed({ instances: 2 });
      const slow = { shops: { ...moduleOptions(bed.sandboxUrl).shops } };
      slow.shops.main = { ...shops.main!, apiBaseUrl: bed.sandboxUrl, requestsPerSecond: 4 };
      const [a, b] = [await bed.start({ options: slow }), await bed.start({ options: slow })];
      for (let bill = 0; bill < 20; bill += 1)
        await bed.host.payments.createBill({ orderId: `o-${bill}`, amount: '1' });
      bed.clock.advance(2 * MINUTE);
      const both = async () =>
        (await Promise.all([a.confirmer.runOnce(), b.confirmer.runOnce()])).reduce((x, y) => x + y);
      const round = async () => (await both()) + (await both()) + (await both());
      // The database's own clock goes on by less than a quarter of a second while three rounds run.
      expect(await round()).toBeLessThanOrEqual(5);
      bed.clock.advance(1_000);
      expect(await round()).toBeLessThanOrEqual(5);
      expect(checks()).toBeGreaterThanOrEqual(8);
    });

    onPostgres(test)(
      'is spent by one instance at a time: while another one claims, there is nothing to claim',
      async () => {
        // Should the claim wait after all, it fails soon.
        bed = await startBed({ through: (url) => `${url}?options=-c%20lock_timeout%3D3s` });
        await bed.host.payments.createBill({ orderId: 'due', amount: '1' });
        bed.clock.advance(2 * MINUTE);
        const other = bed.host.dataSource.createQueryRunner();
        await other.startTransaction();
        await other.query(`SELECT 1 FROM payment_acceptance.shop_state WHERE shop = 'main' FOR UPDATE`);
        expect(await bed.host.confirmer.runOnce()).toBe(0);
        await other.rollbackTransaction();
        await other.release();
        expect(await bed.host.confirmer.runOnce()).toBe(1);
      },
    );
  });

  describe('a shop that the service refuses', () => {
    test('each of its tokens is tried: a rotation loses nothing', async () => {
      bed = await startBed({ providers: [EffectWriter] });
      const shops = moduleOptions(bed.sandboxUrl).shops;
      const rotated = await bed.start({
        options: {
          shops: { main: { ...shops.main!, apiToken: 'the-next-token-0123456789', previousApiTokens: [MAIN_TOKEN] } },
        },
      });
      const bill = await rotated.payments.createBill({ orderId: 'rotated', amount: '10' });
      await bed.sandbox.pay(bill.billId);
      await bed.sandbox.settled();
      expect(await rotated.confirmer.runOnce()).toBe(1);
      expect((await bed.host.ledger()).bills).toMatchObject([{ state: 'PAID' }]);
      expect(await refused()).toEqual([]);
    });

    test('is shown as refused and probed each minute; what waited settles when it is accepted again', async () => {
      bed = await startBed({ providers: [EffectWriter] });
      for (const orderId of ['w-1', 'w-2', 'w-3']) {
        const { billId } = await bed.host.payments.createBill({ orderId, amount: '10' });
        await bed.sandbox.pay(billId);
      }
      await bed.sandbox.setFaults({ requests: { unauthenticated: 1 } });
      await bed.settle();
      expect(await refused()).toMatchObject([{ shop: 'main', refusedReason: expect.stringContaining('401') }]);
      const before = checks();
      for (let minute = 0; minute < 10; minute += 1) {
        bed.clock.advance(MINUTE + 1_000);
        await bed.settle();
      }
      expect(checks() - before).toBeLessThanOrEqual(10);
      await bed.sandbox.clearFaults();
      for (let minute = 0; minute < 12; minute += 1) {
        bed.clock.advance(MINUTE);
        await bed.settle();
      }
      expect(await refused()).toEqual([]);
      expect((await bed.effects()).length).toBe(3);
    });

    test('is accepted again by any answer that only a known shop gets, and its bills go on at once', async () => {
      bed = await startBed({ providers: [EffectWriter] });
      const { billId } = await bed.host.payments.createBill({ orderId: 'paid-before', amount: '10' });
      await bed.sandbox.pay(billId);
      await bed.settle();
      await bed.sandbox.setFaults({ requests: { merchantBanned: 1 } });
      bed.clock.advance(6 * 60 * MINUTE);
      await bed.settle();
      expect((await refused()).length).toBe(1);
      await bed.sandbox.setFaults({ requests: { billNotFound: 1 } });
      bed.clock.advance(2 * MINUTE);
      await bed.settle();
      expect(await refused()).toEqual([]);
    });

    test('does not hold up the others', async () => {
      bed = await startBed({ providers: [EffectWriter] });
      await bed.sandbox.putShop('shop-main', { banned: true });
      const own = await bed.host.payments.shop('eu').createBill({ orderId: 'eu', amount: '10' });
      await bed.sandbox.pay(own.billId);
      await bed.settle();
      expect(await bed.effects()).toMatchObject([{ orderId: 'eu' }]);
      expect(EU_TOKEN).toBeTruthy();
    });

    test('bill_not_found soon after creation is not the end', async () => {
      bed = await startBed({ providers: [EffectWriter] });
      const { billId } = await bed.host.payments.createBill({ orderId: 'young', amount: '10' });
      await bed.sandbox.setFaults({ requests: { billNotFound: 1 } });
      await bed.sandbox.pay(billId);
      await bed.settle();
      await bed.sandbox.clearFaults();
      bed.clock.advance(10_000);
      await bed.settle();
      expect(await bed.effects()).toMatchObject([{ orderId: 'young' }]);
      expect(await refused()).toEqual([]);
    });
  });

  describe('an answer that lags behind a postback', () => {
    test('is asked for again on a short schedule of its own, then the claim stays a note', async () => {
      bed = await startBed();
      const { billId } = await bed.host.payments.createBill({ orderId: 'lagging', amount: '10' });
      await bed.sandbox.forge(billId);
      await bed.settle();
      const asked: number[] = [];
      for (let second = 0; second < 55; second += 1) {
        const before = checks();
        bed.clock.advance(1_000);
        await bed.settle();
        if (checks() > before) asked.push(second + 1);
      }
      expect(asked).toEqual([3, 13, 43]);
      const { callbacks, reviews, events } = await bed.host.ledger();
      expect(callbacks).toMatchObject([{ pending: false, asks: 3, outcome: 'unconfirmed' }]);
      expect([reviews, events]).toEqual([[], []]);
    });

    test('settles as soon as the list shows it', async () => {
      bed = await startBed({ providers: [EffectWriter] });
      const { billId } = await bed.host.payments.createBill({ orderId: 'shown-late', amount: '10' });
      await bed.sandbox.forge(billId);
      await bed.settle();
      await bed.sandbox.setFaults({ postbacks: { drop: 1 } });
      await bed.sandbox.pay(billId);
      bed.clock.advance(3_000);
      await bed.settle();
      expect(await bed.effects()).toMatchObject([{ orderId: 'shown-late' }]);
      expect((await bed.host.ledger()).callbacks).toMatchObject([{ outcome: 'confirmed' }]);
    });
  });
});
