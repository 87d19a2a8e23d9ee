import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postForm, postJson } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;
let count = 0;

describe('flow', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [EffectWriter] });
  });
  afterAll(() => harness.close());

  async function billed() {
    count += 1;
    return harness.host.payments.createBill({ orderId: `F-${count}`, amount: '100.05' });
  }
  const effectsOf = async (orderId: string) =>
    (await harness.effects()).filter((effect) => effect.orderId === orderId).map(({ event }) => event);
  const paymentsOf = async (orderId: string) =>
    (await harness.host.ledger()).payments.filter((payment) => payment.orderId === orderId);
  const stateOf = async (orderId: string) => (await harness.host.payments.findBills(orderId))[0]!.state;

  test('1 and 4.5 the minimum flow: create a bill, send the payer, take the redirect, update the order', async () => {
    const { orderId, billId, linkPageUrl, linkUrl } = await billed();
    expect([linkPageUrl, linkUrl]).toEqual([
      `${harness.sandboxUrl}/transfer/${billId}`,
      `${harness.sandboxUrl}/link/${billId}`,
    ]);
    expect((await fetch(linkPageUrl)).status).toBe(200);
    const { redirect, payment } = await harness.sandbox.pay(billId);
    const answer = await postForm(redirect!.url, redirect!.fields);
    expect(answer.status).toBe(303);
    await harness.settle();
    expect(await effectsOf(orderId)).toEqual(['payment.succeeded']);
    expect(await harness.host.payments.listPayments(billId)).toMatchObject([
      {
        paymentId: payment.id,
        billId,
        status: 'SUCCESS',
        amount: '100.05',
        fromCard: expect.stringMatching(/^\d{6}\*{6}\d{4}$/) as unknown,
      },
    ]);
  });

  describe('3 States and transitions', () => {
    test('3.1 after a postback of SUCCESS the order is marked paid', async () => {
      const { orderId, billId } = await billed();
      await harness.sandbox.pay(billId);
      await harness.settle();
      expect([await effectsOf(orderId), await stateOf(orderId)]).toEqual([['payment.succeeded'], 'PAID']);
    });

    test('3.2 after a postback of FAIL the order is told of the failure, and its bill can still be paid', async () => {
      const { orderId, billId } = await billed();
      await harness.sandbox.pay(billId, { outcome: 'fail' });
      await harness.settle();
      expect([await effectsOf(orderId), await stateOf(orderId)]).toEqual([['payment.failed'], 'OPEN']);
      await harness.sandbox.pay(billId);
      harness.clock.advance(2_000);
      await harness.settle();
      expect([await effectsOf(orderId), await stateOf(orderId)]).toEqual([
        ['payment.failed', 'payment.succeeded'],
        'PAID',
      ]);
    });

    test('3.1 and 3.2 a postback alone changes no order, only what the service lists', async () => {
      const { orderId, billId } = await billed();
      for (const Status of ['SUCCESS', 'FAIL']) {
        const fields = postbackFields({ InvId: orderId, OutSum: '100.05', TrsId: billId, Status });
        expect((await postJson(`${harness.host.url}/postback/payment`, fields)).status).toBe(200);
      }
      harness.clock.advance(5_000);
      await harness.settle();
      expect([await effectsOf(orderId), await stateOf(orderId)]).toEqual([[], 'OPEN']);
    });

    test('a FAIL may still become a SUCCESS, and a SUCCESS stays one (assumed: transitions are not documented)', async () => {
      const { orderId, billId } = await billed();
      const check = async () => {
        harness.clock.advance(20 * 60_000);
        await harness.settle();
        const [payment] = await paymentsOf(orderId);
        return payment?.status;
      };
      const { payment } = await harness.sandbox.pay(billId, { outcome: 'fail' });
      expect(await check()).toBe('FAIL');
      await harness.sandbox.complete(payment.id, { outcome: 'success' });
      expect(await check()).toBe('SUCCESS');
      await harness.sandbox.complete(payment.id, { outcome: 'fail', force: true });
      expect(await check()).toBe('SUCCESS');
      expect(await effectsOf(orderId)).toEqual(['payment.failed', 'payment.succeeded']);
      expect((await harness.host.ledger()).reviews.filter((review) => review.orderId === orderId)).toMatchObject([
        { reason: 'payment-changed', state: 'OPEN' },
      ]);
    });

    test('a bill is OPEN until paid, then PAID, or EXPIRED after lifetimeMs (assumed: states are not documented)', async () => {
      const { orderId } = await billed();
      expect(await stateOf(orderId)).toBe('OPEN');
      harness.clock.advance(3 * 86_400_000);
      await harness.settle();
      expect(await stateOf(orderId)).toBe('EXPIRED');
      expect((await harness.host.ledger()).events.filter((event) => event.orderId === orderId)).toMatchObject([
        { name: 'bill.expired' },
      ]);
    });
  });

  describe('6 Events', () => {
    test.each([
      ['success', 'redirect-success', 'SUCCESS'],
      ['fail', 'redirect-fail', 'FAIL'],
    ] as const)(
      'a payment that ends in %s makes one redirect and one postback, each stored with its bill',
      async (outcome, kind, Status) => {
        const { orderId, billId } = await billed();
        const { redirect } = await harness.sandbox.pay(billId, { outcome });
        await postForm(redirect!.url, redirect!.fields);
        await harness.settle();
        const callbacks = (await harness.host.ledger()).callbacks.filter((callback) => callback.orderId === orderId);
        expect(
          callbacks.map((callback) => [callback.kind, callback.status, callback.billId, callback.digest]).sort(),
        ).toEqual([
          ['postback', Status, billId, 'match'],
          [kind, null, billId, 'match'],
        ]);
      },
    );

    test('a payment without any callback is found by scheduled checks (assumed: delivery is not guaranteed)', async () => {
      const { orderId, billId } = await billed();
      await harness.sandbox.putShop('shop-main', { resultUrl: null });
      await harness.sandbox.pay(billId);
      await harness.settle();
      expect(await effectsOf(orderId)).toEqual([]);
      harness.clock.advance(60_000);
      await harness.settle();
      expect(await effectsOf(orderId)).toEqual(['payment.succeeded']);
      await harness.sandbox.putShop('shop-main', { resultUrl: `${harness.host.url}/postback/payment` });
    });

    test('a postback that is repeated makes one event (assumed: retries are not documented)', async () => {
      const { orderId, billId } = await billed();
      await harness.sandbox.pay(billId);
      await harness.settle();
      for (let copy = 0; copy < 3; copy += 1) {
        await harness.sandbox.replay(harness.sandbox.bill(billId).callbacks[0]!.id);
        harness.clock.advance(5_000);
        await harness.settle();
      }
      expect(await effectsOf(orderId)).toEqual(['payment.succeeded']);
      expect((await harness.host.ledger()).callbacks.filter((callback) => callback.orderId === orderId)).toHaveLength(
        4,
      );
    });
  });

  describe('2.3 the relation between amount, amount_received and commission is not shown (assumed; option judge)', () => {
    test.each([
      ['99.99', 'underpaid', [], 'OPEN'],
      ['100.06', 'overpaid', ['payment.succeeded'], 'PAID'],
    ])('a payment of %s for a bill of 100.05 is a review: %s', async (amount, reason, effects, state) => {
      const { orderId, billId } = await billed();
      await harness.sandbox.pay(billId, { amount });
      await harness.settle();
      expect([await effectsOf(orderId), await stateOf(orderId)]).toEqual([effects, state]);
      expect((await harness.host.ledger()).reviews.filter((review) => review.orderId === orderId)).toMatchObject([
        { reason },
      ]);
    });

    test("the payer's commission is no overpayment, and the shop's is taken off amount_received", async () => {
      await harness.sandbox.putShop('shop-main', { commissionPercent: 2 });
      for (const payerPaysCommission of [true, false]) {
        const orderId = `F-commission-${payerPaysCommission}`;
        const { billId } = await harness.host.payments.createBill({ orderId, amount: '100', payerPaysCommission });
        await harness.sandbox.pay(billId);
        await harness.settle();
        expect(await effectsOf(orderId)).toEqual(['payment.succeeded']);
      }
      expect(
        (await harness.host.ledger()).reviews.filter((review) => review.orderId.startsWith('F-commission')),
      ).toEqual([]);
      await harness.sandbox.putShop('shop-main', { commissionPercent: 0 });
    });
  });
});
