import { afterEach, describe, expect, test } from '@jest/globals';
import { judgePayment, type Judge } from 'nestjs-payment-acceptance';
import { startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;

const summary = async () => {
  const { bills, events, reviews } = await harness.host.ledger();
  return {
    bills: bills.map(({ state }) => state),
    events: events.map(({ name }) => name).reverse(),
    reviews: reviews.map(({ reason, state }) => [reason, state]),
  };
};

describe('invariant 3: one judge, and statuses only advance', () => {
  afterEach(() => harness.close());

  test.each([
    ['equal', '100.00', 'PAID', ['payment.succeeded'], []],
    ['underpaid', '99.99', 'OPEN', ['payment.review'], [['underpaid', 'OPEN']]],
    ['overpaid', '100.01', 'PAID', ['payment.succeeded', 'payment.review'], [['overpaid', 'OPEN']]],
  ])('a payment is judged %s: %s paid for a bill of 100.00', async (_name, amount, state, events, reviews) => {
    harness = await startHarness({ providers: [EffectWriter] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'judged', amount: '100' });
    await harness.sandbox.pay(billId, { amount });
    await harness.settle();
    expect(await summary()).toEqual({ bills: [state], events, reviews });
    expect((await harness.effects()).length).toBe(state === 'PAID' ? 1 : 0);
  });

  test('a payment in another currency is a review', async () => {
    harness = await startHarness();
    const { billId } = await harness.host.payments.createBill({ orderId: 'currency', amount: '100' });
    await harness.sandbox.pay(billId, { currency: 'USD' });
    await harness.settle();
    expect(await summary()).toMatchObject({ bills: ['OPEN'], reviews: [['wrong-currency', 'OPEN']] });
  });

  test("a payment with the payer's commission on top succeeds, and reports the surplus", async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    await harness.sandbox.putShop('shop-main', { commissionPercent: 3 });
    const { billId } = await harness.host.payments.createBill({
      orderId: 'commission',
      amount: '100',
      payerPaysCommission: true,
    });
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect(await summary()).toEqual({ bills: ['PAID'], events: ['payment.succeeded'], reviews: [] });
    expect((await harness.host.ledger()).payments).toMatchObject([{ amount: '103.00', amountReceived: '100.00' }]);
  });

  test('FAIL advances to SUCCESS, and a SUCCESS that becomes FAIL is a review of a bill that stays paid', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'late', amount: '10' });
    const { payment } = await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.settle();
    await harness.sandbox.complete(payment.id, { outcome: 'success' });
    harness.clock.advance(5_000);
    await harness.settle();
    await harness.sandbox.complete(payment.id, { outcome: 'fail', force: true });
    harness.clock.advance(5_000);
    await harness.settle();
    expect(await summary()).toEqual({
      bills: ['PAID'],
      events: ['payment.failed', 'payment.succeeded', 'payment.review'],
      reviews: [['payment-changed', 'OPEN']],
    });
    expect((await harness.host.ledger()).payments).toMatchObject([{ status: 'SUCCESS' }]);
  });

  test('a second payment on the same bill is an event marked as such, and a review', async () => {
    harness = await startHarness({ providers: [EffectWriter] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'second', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.pay(billId);
    await harness.settle();
    expect(await summary()).toEqual({
      bills: ['PAID'],
      events: ['payment.succeeded', 'payment.succeeded', 'payment.review'],
      reviews: [['second-payment', 'OPEN']],
    });
  });

  test("the host's judge replaces the default, and settles nothing if it breaks its contract", async () => {
    const lenient: Judge = (bill, payments) =>
      payments.map((payment) => (payment.status === 'SUCCESS' ? { kind: 'succeeded' } : judgePayment(bill, payment)));
    harness = await startHarness({ options: { judge: lenient } });
    const first = await harness.host.payments.createBill({ orderId: 'lenient', amount: '10' });
    await harness.sandbox.pay(first.billId, { amount: '9.50' });
    await harness.settle();
    expect(await summary()).toEqual({ bills: ['PAID'], events: ['payment.succeeded'], reviews: [] });
    await harness.close();

    harness = await startHarness({
      options: { judge: (_bill, payments) => payments.map(() => ({ kind: 'succeeded' })) },
    });
    const second = await harness.host.payments.createBill({ orderId: 'careless', amount: '10' });
    await harness.sandbox.pay(second.billId, { outcome: 'fail' });
    await harness.settle();
    expect(await summary()).toEqual({ bills: ['OPEN'], events: [], reviews: [] });
    expect((await harness.host.ledger()).bills[0]?.lastCheckError).toContain('judge');
  });
});
