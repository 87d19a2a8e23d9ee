import { afterEach, describe, expect, test } from '@jest/globals';
import { judgePayment, type Judge } from 'nestjs-payment-acceptance';
import { startBed, type Bed } from '../support/bed.js';
import { EffectWriter } from '../support/orders.js';

let bed: Bed;

const summary = async () => {
  const { bills, events, reviews } = await bed.host.ledger();
  return {
    bills: bills.map(({ state }) => state),
    events: events.map(({ name }) => name).reverse(),
    reviews: reviews.map(({ reason, state }) => [reason, state]),
  };
};

describe('invariant 3: one judge, and statuses only advance', () => {
  afterEach(() => bed.close());

  test.each([
    ['equal', '100.00', 'PAID', ['payment.succeeded'], []],
    ['underpaid', '99.99', 'OPEN', ['payment.review'], [['underpaid', 'OPEN']]],
    ['overpaid', '100.01', 'PAID', ['payment.succeeded', 'payment.review'], [['overpaid', 'OPEN']]],
  ])('%s: a payment of %s for a bill of 100.00', async (_name, amount, state, events, reviews) => {
    bed = await startBed({ providers: [EffectWriter] });
    const { billId } = await bed.host.payments.createBill({ orderId: 'judged', amount: '100' });
    await bed.sandbox.pay(billId, { amount });
    await bed.settle();
    expect(await summary()).toEqual({ bills: [state], events, reviews });
    expect((await bed.effects()).length).toBe(state === 'PAID' ? 1 : 0);
  });

  test('another currency is a review', async () => {
    bed = await startBed();
    const { billId } = await bed.host.payments.createBill({ orderId: 'currency', amount: '100' });
    await bed.sandbox.pay(billId, { currency: 'USD' });
    await bed.settle();
    expect(await summary()).toMatchObject({ bills: ['OPEN'], reviews: [['wrong-currency', 'OPEN']] });
  });

  test('a payer who pays the commission pays more than billed: succeeded, with the surplus', async () => {
    bed = await startBed({ providers: [EffectWriter] });
    await bed.sandbox.putShop('shop-main', { commissionPercent: 3 });
    const { billId } = await bed.host.payments.createBill({
      orderId: 'commission',
      amount: '100',
      payerPaysCommission: true,
    });
    await bed.sandbox.pay(billId);
    await bed.settle();
    expect(await summary()).toEqual({ bills: ['PAID'], events: ['payment.succeeded'], reviews: [] });
    expect((await bed.host.ledger()).payments).toMatchObject([{ amount: '103.00', amountReceived: '100.00' }]);
  });

  test('FAIL advances to SUCCESS; SUCCESS that turns into FAIL is a review, and the bill stays paid', async () => {
    bed = await startBed({ providers: [EffectWriter] });
    const { billId } = await bed.host.payments.createBill({ orderId: 'late', amount: '10' });
    const { payment } = await bed.sandbox.pay(billId, { outcome: 'fail' });
    await bed.settle();
    await bed.sandbox.complete(payment.id, { outcome: 'success' });
    bed.clock.advance(5_000);
    await bed.settle();
    await bed.sandbox.complete(payment.id, { outcome: 'fail', force: true });
    bed.clock.advance(5_000);
    await bed.settle();
    expect(await summary()).toEqual({
      bills: ['PAID'],
      events: ['payment.failed', 'payment.succeeded', 'payment.review'],
      reviews: [['payment-changed', 'OPEN']],
    });
    expect((await bed.host.ledger()).payments).toMatchObject([{ status: 'SUCCESS' }]);
  });

  test('a second payment on the same bill: an event that says so, and a review', async () => {
    bed = await startBed({ providers: [EffectWriter] });
    const { billId } = await bed.host.payments.createBill({ orderId: 'second', amount: '10' });
    await bed.sandbox.pay(billId);
    await bed.sandbox.pay(billId);
    await bed.settle();
    expect(await summary()).toEqual({
      bills: ['PAID'],
      events: ['payment.succeeded', 'payment.succeeded', 'payment.review'],
      reviews: [['second-payment', 'OPEN']],
    });
  });

  test('a judge of the host replaces the default; one that breaks its contract settles nothing', async () => {
    const lenient: Judge = (bill, payments) =>
      payments.map((payment) => (payment.status === 'SUCCESS' ? { kind: 'succeeded' } : judgePayment(bill, payment)));
    bed = await startBed({ options: { judge: lenient } });
    const first = await bed.host.payments.createBill({ orderId: 'lenient', amount: '10' });
    await bed.sandbox.pay(first.billId, { amount: '9.50' });
    await bed.settle();
    expect(await summary()).toEqual({ bills: ['PAID'], events: ['payment.succeeded'], reviews: [] });
    await bed.close();

    bed = await startBed({ options: { judge: (_bill, payments) => payments.map(() => ({ kind: 'succeeded' })) } });
    const second = await bed.host.payments.createBill({ orderId: 'careless', amount: '10' });
    await bed.sandbox.pay(second.billId, { outcome: 'fail' });
    await bed.settle();
    expect(await summary()).toEqual({ bills: ['OPEN'], events: [], reviews: [] });
    expect((await bed.host.ledger()).bills[0]?.lastCheckError).toContain('judge');
  });
});
