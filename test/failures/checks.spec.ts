import { afterEach, describe, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PaymentHealthIndicator, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { EffectWriter } from '../support/orders.js';
import { pass } from './support/checks.js';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

let harness: Harness;

describe('checks', () => {
  const closeLater = closing();
  afterEach(() => harness.close());

  describe('failing checks', () => {
    test('a paid bill whose checks fail is checked no more often than a healthy one, and not beyond its time', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const { billId } = await harness.host.payments.createBill({ orderId: 'purged', amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
      expect(await pass(harness, DAY, 30 * MINUTE)).toBeLessThanOrEqual(4);
      await pass(harness, 7 * DAY, 12 * 60 * MINUTE);
      expect(await pass(harness, 5 * DAY, 12 * 60 * MINUTE)).toBe(0);
      expect((await harness.host.ledger()).bills).toMatchObject([{ state: 'PAID', nextCheckAt: null }]);
    });

    test('an open bill whose checks always fail becomes a review at the end of its lifetime, and checks stop', async () => {
      harness = await startHarness();
      const { billId } = await harness.host.payments.createBill({ orderId: 'banned', amount: '10' });
      await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
      await pass(harness, 4 * DAY, 2 * 60 * MINUTE);
      const { bills, reviews } = await harness.host.ledger();
      expect(bills).toMatchObject([{ state: 'OPEN', lastCheckError: expect.stringContaining('bill_not_found') }]);
      expect(reviews).toMatchObject([{ billId, reason: 'uncheckable', state: 'OPEN' }]);
      expect(await pass(harness, 3 * DAY, 2 * 60 * MINUTE)).toBeLessThanOrEqual(3);
      await pass(harness, 30 * DAY, DAY);
      expect(await pass(harness, 5 * DAY, DAY)).toBe(0);
      expect((await harness.host.ledger()).reviews.length).toBe(1);
    });

    test("an operator's decision on a bill whose checks fail does not clear the failing checks from health", async () => {
      harness = await startHarness();
      await harness.host.payments.createBill({ orderId: 'decided', amount: '10' });
      await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
      await pass(harness, 4 * DAY, 2 * 60 * MINUTE);
      const { reviews } = await harness.host.ledger();
      const failing = { lastCheckError: expect.stringContaining('bill_not_found'), checkedAt: null };
      expect((await harness.host.ledger()).bills).toMatchObject([{ ...failing, state: 'OPEN' }]);
      const accepted = { operator: 'ann', note: 'seen at the bank', paymentId: 'P-1', amount: '10' };
      await harness.host.app.get(PaymentReviews).accept(reviews[0]!.id, accepted);
      expect((await harness.host.ledger()).bills).toMatchObject([{ ...failing, state: 'PAID' }]);
      const { payments } = await harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
      expect(payments.degraded).toContain('checks-failing');
    });

    test.each(['status500', 'unauthenticated', 'merchantBanned', 'html'] as const)(
      'a postback for a bill that expired long ago is kept while the service fails (%s), and settles afterwards',
      async (fault) => {
        harness = await startHarness({ providers: [EffectWriter] });
        const { billId } = await harness.host.payments.createBill({ orderId: 'late', amount: '10' });
        await pass(harness, 4 * DAY, DAY);
        await pass(harness, 31 * DAY, DAY);
        expect((await harness.host.ledger()).bills).toMatchObject([{ state: 'EXPIRED', nextCheckAt: null }]);
        await harness.sandbox.setFaults({ requests: { [fault]: 1 } });
        await harness.sandbox.pay(billId);
        await pass(harness, 2 * 60 * MINUTE, 10 * MINUTE);
        await harness.sandbox.clearFaults();
        await pass(harness, 20 * MINUTE, 10 * MINUTE);
        expect((await harness.host.ledger()).events.map(({ name }) => name)).toContain('payment.succeeded');
        expect(await harness.effects()).toHaveLength(1);
      },
    );

    test('an ended bill that the service no longer knows is not checked any more, and its postbacks stay as notes', async () => {
      harness = await startHarness();
      const { billId } = await harness.host.payments.createBill({ orderId: 'forgotten', amount: '10' });
      await pass(harness, 4 * DAY, DAY);
      await pass(harness, 31 * DAY, DAY);
      await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
      await harness.sandbox.forge(billId);
      await pass(harness, 2 * 60 * MINUTE, 10 * MINUTE);
      const { callbacks, reviews } = await harness.host.ledger();
      expect([callbacks, reviews]).toMatchObject([[{ pending: false, outcome: 'unconfirmed' }], []]);
      expect(await pass(harness, 5 * DAY, DAY)).toBe(0);
    });

    test('a bill that ends during an outage of the service expires a little later, without a review', async () => {
      harness = await startHarness();
      await harness.host.payments.createBill({ orderId: 'ending', amount: '10' });
      await pass(harness, 3 * DAY - 60 * MINUTE, 60 * MINUTE);
      await harness.sandbox.setFaults({ requests: { status500: 1 } });
      await pass(harness, 64 * MINUTE, 4 * MINUTE);
      await harness.sandbox.clearFaults();
      await pass(harness, 20 * MINUTE, MINUTE);
      const { bills, reviews, events } = await harness.host.ledger();
      expect([bills[0]!.state, reviews, events.map(({ name }) => name)]).toEqual(['EXPIRED', [], ['bill.expired']]);
    });

    test('checks back off while the service is down for hours, and payments settle soon after it returns', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const { billId } = await harness.host.payments.createBill({ orderId: 'down', amount: '10' });
      await harness.sandbox.setFaults({ requests: { status500: 1 } });
      await harness.sandbox.pay(billId);
      expect(await pass(harness, 6 * 60 * MINUTE, 5 * MINUTE)).toBeLessThan(60);
      await harness.sandbox.clearFaults();
      await pass(harness, 10 * MINUTE, MINUTE);
      expect(await harness.effects()).toMatchObject([{ orderId: 'down' }]);
    });

    test('bills that were checked in vain during an outage settle within seconds of its end', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const paid = async (orderId: string): Promise<void> => {
        await harness.sandbox.pay((await harness.host.payments.createBill({ orderId, amount: '10' })).billId);
      };
      for (const orderId of ['a', 'b']) await paid(orderId);
      await harness.sandbox.setFaults({ requests: { status500: 1 } });
      await pass(harness, 10 * MINUTE, 20_000);
      await harness.sandbox.clearFaults();
      await harness.settle();
      expect(await harness.effects()).toEqual([]);
      // Neither is due: another bill shows that the service is back.
      await paid('c');
      for (let second = 0; second < 4; second += 1) {
        harness.clock.advance(1_000);
        await harness.settle();
      }
      const orders = (await harness.effects()).map(({ orderId }) => orderId);
      expect(orders.sort()).toEqual(['a', 'b', 'c']);
    });

    test('a bill whose postback was lost in an outage settles within seconds of its end', async () => {
      harness = await startHarness({ providers: [EffectWriter], options: { schedule: { openMs: [MINUTE] } } });
      const paid = async (orderId: string): Promise<void> => {
        await harness.sandbox.pay((await harness.host.payments.createBill({ orderId, amount: '10' })).billId);
      };
      await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
      await paid('a');
      await harness.sandbox.setFaults({ requests: { status500: 1 } });
      await pass(harness, 40 * MINUTE, MINUTE);
      await harness.sandbox.clearFaults();
      await paid('b');
      for (let second = 0; second < 4; second += 1) {
        harness.clock.advance(1_000);
        await harness.settle();
      }
      expect((await harness.effects()).map(({ orderId }) => orderId).sort()).toEqual(['a', 'b']);
    });

    test("the next check of a bill waits for as long as the service's Retry-After says", async () => {
      let asked = 0;
      const server = createServer((request, response) => {
        if (request.method === 'POST') {
          response.end('{"success":"true","bill_id":"b-1","link_page_url":"http://127.0.0.1/transfer/b-1"}');
          return;
        }
        asked += 1;
        response.writeHead(429, { 'retry-after': '3600' }).end('{"message":"slow down"}');
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      closeLater(() => server.close());
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      harness = await startHarness({ options: { shops: moduleOptions(url).shops } });
      await harness.host.payments.createBill({ orderId: 'slow', amount: '10' });
      await pass(harness, 59 * MINUTE, MINUTE);
      expect(asked).toBe(1);
      await pass(harness, 3 * MINUTE, MINUTE);
      expect(asked).toBe(2);
    });

    test('a payment that stays NEW keeps its bill open for weeks, rarely checked, and ends as a review', async () => {
      harness = await startHarness();
      const { billId } = await harness.host.payments.createBill({ orderId: 'abandoned', amount: '10' });
      await harness.sandbox.pay(billId, { card: '4000 0000 0000 0069' });
      await pass(harness, 4 * DAY, 2 * 60 * MINUTE);
      expect(await pass(harness, 3 * DAY, 2 * 60 * MINUTE)).toBeLessThanOrEqual(3);
      await pass(harness, 30 * DAY, DAY);
      const { bills, events, reviews } = await harness.host.ledger();
      expect(bills).toMatchObject([{ state: 'EXPIRED', nextCheckAt: expect.any(String) as unknown }]);
      expect(reviews).toMatchObject([{ billId, reason: 'unfinished', state: 'OPEN' }]);
      expect(events.map(({ name }) => name).sort()).toEqual(['bill.expired', 'payment.review']);
      // Whoever pays the order after all gets a bill that is looked after.
      expect((await harness.host.payments.createBill({ orderId: 'abandoned', amount: '10' })).billId).not.toBe(billId);
    });

    test('an open bill that is no longer checked is not returned by createBill', async () => {
      harness = await startHarness();
      const bill = { orderId: 'refused', amount: '10' };
      const { billId } = await harness.host.payments.createBill(bill);
      await harness.sandbox.setFaults({ requests: { tooManyPayments: 1 } });
      await pass(harness, 40 * DAY, DAY);
      expect((await harness.host.ledger()).bills).toMatchObject([{ state: 'OPEN', nextCheckAt: null }]);
      expect((await harness.host.payments.createBill(bill)).billId).not.toBe(billId);
    });

    test('with one check at a time, neither hinted nor scheduled bills wait for all of the others', async () => {
      harness = await startHarness({ options: { checks: { concurrency: 1 } } });
      for (let bill = 0; bill < 40; bill += 1) {
        await harness.host.payments.createBill({ orderId: `due-${bill}`, amount: '1' });
      }
      harness.clock.advance(30_000);
      const { billId } = await harness.host.payments.createBill({ orderId: 'hinted', amount: '1' });
      harness.clock.advance(45_000);
      await harness.sandbox.forge(billId);
      await harness.sandbox.settled();
      for (let round = 0; round < 30; round += 1) await harness.host.confirmer.runOnce();
      const asked = harness.sandbox.requests.filter(({ operation }) => operation === 'payments').map((r) => r.billId);
      expect(asked).toContain(billId);
      expect(new Set(asked).size).toBeGreaterThan(10);
    });
  });
});
