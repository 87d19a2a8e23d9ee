import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, test } from '@jest/globals';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { StatisticsStore } from '../../libs/payment-acceptance/src/health/storage/statistics.store.js';
import { RetentionStore } from '../../libs/payment-acceptance/src/retention/storage/retention.store.js';
import { codeBlocks } from '../../scripts/lib/markdown.mjs';
import { MAIN_TOKEN, moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { onPostgres } from '../support/database.js';
import { EffectWriter } from '../support/orders.js';

const MINUTE = 60_000;

let harness: Harness;

describe('shops', () => {
  afterEach(() => harness.close());

  const checks = () => harness.sandbox.requests.filter(({ operation }) => operation === 'payments').length;
  const refused = async () =>
    (await harness.host.app.get(PaymentOperations).shopStates()).filter(({ refusedSince }) => refusedSince !== null);

  describe('the rate of a shop', () => {
    test("two instances together make no more checks a second than their shop's rate allows", async () => {
      const { shops } = moduleOptions('http://unused');
      harness = await startHarness({ instances: 2 });
      const slow = { shops: { ...moduleOptions(harness.sandboxUrl).shops } };
      slow.shops.main = { ...shops.main!, apiBaseUrl: harness.sandboxUrl, requestsPerSecond: 4 };
      const [a, b] = [await harness.start({ options: slow }), await harness.start({ options: slow })];
      for (let bill = 0; bill < 20; bill += 1)
        await harness.host.payments.createBill({ orderId: `o-${bill}`, amount: '1' });
      harness.clock.advance(2 * MINUTE);
      const both = async () =>
        (await Promise.all([a.confirmer.runOnce(), b.confirmer.runOnce()])).reduce((x, y) => x + y);
      const round = async () => (await both()) + (await both()) + (await both());
      // The database's own clock advances by less than a quarter of a second during three rounds.
      expect(await round()).toBeLessThanOrEqual(5);
      harness.clock.advance(1_000);
      expect(await round()).toBeLessThanOrEqual(5);
      expect(checks()).toBeGreaterThanOrEqual(8);
    });

    onPostgres(test)(
      'the rate of a shop is spent by one instance at a time, and others claim nothing meanwhile',
      async () => {
        // If the claim waits after all, it fails soon.
        harness = await startHarness({ through: (url) => `${url}?options=-c%20lock_timeout%3D3s` });
        await harness.host.payments.createBill({ orderId: 'due', amount: '1' });
        harness.clock.advance(2 * MINUTE);
        const other = harness.host.dataSource.createQueryRunner();
        await other.startTransaction();
        await other.query(`SELECT 1 FROM payment_acceptance.shop_state WHERE shop = 'main' FOR UPDATE`);
        expect(await harness.host.confirmer.runOnce()).toBe(0);
        await other.rollbackTransaction();
        await other.release();
        expect(await harness.host.confirmer.runOnce()).toBe(1);
      },
    );
  });

  describe('a shop that the service refuses', () => {
    test('each token of a shop is tried, so that a rotation loses no payment', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const shops = moduleOptions(harness.sandboxUrl).shops;
      const rotated = await harness.start({
        options: {
          shops: { main: { ...shops.main!, apiToken: 'the-next-token-0123456789', previousApiTokens: [MAIN_TOKEN] } },
        },
      });
      const bill = await rotated.payments.createBill({ orderId: 'rotated', amount: '10' });
      await harness.sandbox.pay(bill.billId);
      await harness.sandbox.settled();
      expect(await rotated.confirmer.runOnce()).toBe(1);
      expect((await harness.host.ledger()).bills).toMatchObject([{ state: 'PAID' }]);
      expect(await refused()).toEqual([]);
    });

    test('a refused shop is reported and probed each minute, and its payments settle once it is accepted', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      for (const orderId of ['w-1', 'w-2', 'w-3']) {
        const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
        await harness.sandbox.pay(billId);
      }
      await harness.sandbox.setFaults({ requests: { unauthenticated: 1 } });
      await harness.settle();
      expect(await refused()).toMatchObject([{ shop: 'main', refusedReason: expect.stringContaining('401') }]);
      const before = checks();
      for (let minute = 0; minute < 10; minute += 1) {
        harness.clock.advance(MINUTE + 1_000);
        await harness.settle();
      }
      expect(checks() - before).toBeLessThanOrEqual(10);
      await harness.sandbox.clearFaults();
      for (let minute = 0; minute < 12; minute += 1) {
        harness.clock.advance(MINUTE);
        await harness.settle();
      }
      expect(await refused()).toEqual([]);
      expect((await harness.effects()).length).toBe(3);
    });

    test('a shop that is closed for good is ended by the documented statements', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const eu = harness.host.payments.shop('eu');
      const { billId, intentId } = await eu.createBill({ orderId: 'E-1', amount: '10' });
      await harness.host.payments.createBill({ orderId: 'M-1', amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.sandbox.setFaults({ requests: { unauthenticated: 1 } });
      harness.clock.advance(30 * MINUTE);
      await harness.settle();
      await harness.sandbox.clearFaults();
      harness.clock.advance(30 * MINUTE);
      const { main } = moduleOptions(harness.sandboxUrl).shops;
      const { app, confirmer } = await harness.start({ options: { shops: { main: main! } }, only: 'main' });
      const statistics = app.get(StatisticsStore, { strict: false });
      const before = await statistics.stats('eu');
      expect(before.oldestCheckMs).toBeGreaterThan(0);
      const isOfShop = ({ language, text }: { language: string; text: string }) =>
        language === 'sql' && text.includes('shop_state');
      const statements = codeBlocks(readFileSync('docs/operations.md', 'utf8')).find(isOfShop)!.text;
      for (const statement of statements.split(';\n')) await harness.host.dataSource.query(statement.replace(/;$/, ''));
      harness.clock.advance(40 * 24 * 60 * MINUTE);
      await confirmer.runOnce();
      expect(await refused()).toEqual([]);
      expect(await statistics.stats('eu')).toMatchObject({ oldestCheckMs: null, waitingCallbacks: 0 });
      const store = app.get(RetentionStore, { strict: false });
      expect(await store.redactBills(MINUTE, 10)).toBe(1);
      expect((await harness.host.ledger()).bills.find((bill) => bill.intentId === intentId)).toMatchObject({
        state: 'OPEN',
      });
    });

    test('a refused shop is accepted again by any answer that only a known shop gets, and its bills go on at once', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const orders = ['open-1', 'open-2', 'open-3', 'open-4', 'open-5'];
      for (const orderId of orders) await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.setFaults({ requests: { merchantBanned: 1 } });
      harness.clock.advance(6 * 60 * MINUTE);
      await harness.settle();
      expect((await refused()).length).toBe(1);
      await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
      const before = harness.sandbox.requests.length;
      harness.clock.advance(2 * MINUTE);
      await harness.settle();
      expect(await refused()).toEqual([]);
      expect(harness.sandbox.requests.length - before).toBe(orders.length);
    });

    test('a refused shop does not hold up other shops', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      for (const orderId of ['main-1', 'main-2', 'main-3']) {
        const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
        await harness.sandbox.pay(billId);
      }
      await harness.sandbox.putShop('shop-main', { banned: true });
      await harness.settle();
      expect(await refused()).toHaveLength(1);
      const own = await harness.host.payments.shop('eu').createBill({ orderId: 'eu', amount: '10' });
      await harness.sandbox.pay(own.billId);
      await harness.settle();
      expect(await harness.effects()).toMatchObject([{ orderId: 'eu' }]);
    });

    test('bill_not_found soon after the creation of a bill does not end its checks', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const { billId } = await harness.host.payments.createBill({ orderId: 'young', amount: '10' });
      await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
      await harness.sandbox.pay(billId);
      await harness.settle();
      await harness.sandbox.clearFaults();
      harness.clock.advance(10_000);
      await harness.settle();
      expect(await harness.effects()).toMatchObject([{ orderId: 'young' }]);
      expect(await refused()).toEqual([]);
    });
  });

  describe('a list that lags behind a postback', () => {
    test('a list that does not show a claimed payment is read again on a short schedule, then left as a note', async () => {
      harness = await startHarness();
      const { billId } = await harness.host.payments.createBill({ orderId: 'lagging', amount: '10' });
      await harness.sandbox.forge(billId);
      await harness.settle();
      const asked: number[] = [];
      for (let second = 0; second < 55; second += 1) {
        const before = checks();
        harness.clock.advance(1_000);
        await harness.settle();
        if (checks() > before) asked.push(second + 1);
      }
      expect(asked).toEqual([3, 13, 43]);
      const { callbacks, reviews, events } = await harness.host.ledger();
      expect(callbacks).toMatchObject([{ pending: false, asks: 3, outcome: 'unconfirmed' }]);
      expect([reviews, events]).toEqual([[], []]);
    });

    test('a claimed payment settles as soon as the list shows it', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const { billId } = await harness.host.payments.createBill({ orderId: 'shown-late', amount: '10' });
      await harness.sandbox.forge(billId);
      await harness.settle();
      await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
      await harness.sandbox.pay(billId);
      harness.clock.advance(3_000);
      await harness.settle();
      expect(await harness.effects()).toMatchObject([{ orderId: 'shown-late' }]);
      expect((await harness.host.ledger()).callbacks).toMatchObject([{ outcome: 'confirmed' }]);
    });
  });
});
