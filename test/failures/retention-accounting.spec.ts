import { afterEach, describe, expect, test } from '@jest/globals';
import { PaymentOrderAlreadyPaidError } from 'nestjs-payment-acceptance';
import { PaymentOperations, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { close, DAY, harness, open, paid, refused, removeAll, rows, seen } from './support/retention.js';

describe('records that retention keeps for accounting', () => {
  afterEach(close);

  test('retention never removes bills, payments, events, deliveries, reviews or actions', async () => {
    await open({ batchSize: 1000 });
    await paid('paid');
    const { billId } = await harness.host.payments.createBill({ orderId: 'short', amount: '10' });
    await harness.sandbox.pay(billId, { amount: '9.00' });
    await harness.settle();
    await harness.host.app
      .get(PaymentReviews)
      .dismiss((await harness.host.ledger()).reviews[0]!.id, { operator: 'ann' });
    const tables = ['shop_order', 'bill', 'payment', 'event', 'delivery', 'review', 'operator_action'];
    const before = await Promise.all(tables.map((table) => rows(table)));
    harness.clock.advance(3650 * DAY);
    expect(await removeAll()).toEqual([2]);
    expect(await Promise.all(tables.map((table) => rows(table)))).toEqual(before);
  });

  test('after retention a paid order takes no second bill, and a second payment is found after years', async () => {
    await open(undefined);
    const { orderId, billId } = await paid('A-1');
    harness.clock.advance(1000 * DAY);
    await harness.settle();
    await removeAll();
    await expect(harness.host.payments.createBill({ orderId, amount: '10' })).rejects.toBeInstanceOf(
      PaymentOrderAlreadyPaidError,
    );
    await harness.sandbox.pay(billId);
    harness.clock.advance(60_000); // the least pause between two checks
    await harness.settle();
    expect((await harness.host.ledger()).reviews).toMatchObject([{ orderId, reason: 'second-payment', state: 'OPEN' }]);
    expect(seen.map(({ name }) => name)).toEqual(['payment.succeeded', 'payment.succeeded']);
  });

  test('a dead letter replayed after retention still says that later events came before it', async () => {
    await open({ batchSize: 1000 });
    refused.add('A-1');
    const { billId } = await harness.host.payments.createBill({ orderId: 'A-1', amount: '10' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    harness.clock.advance(DAY);
    await removeAll();
    refused.clear();
    await harness.host.app.get(PaymentOperations).replay({}, { operator: 'ann' });
    await harness.settle();
    expect(seen).toMatchObject([{ name: 'payment.succeeded' }, { name: 'payment.failed', late: true }]);
  });
});
