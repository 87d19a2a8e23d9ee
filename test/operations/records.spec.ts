import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  PaymentChecks,
  PaymentImport,
  PaymentOperations,
  PaymentReconciliation,
  PaymentRecords,
  PaymentReviews,
} from 'nestjs-payment-acceptance/operations';
import { PaymentConsoleModule } from 'nestjs-payment-console';
import { Operator } from '../console/support/operator.js';
import { Bookkeeper } from '../console/support/records.js';
import { commandsOf, type Commands } from '../support/commands.js';
import { startHarness, type Harness } from '../support/harness.js';

const DAY = 24 * 3_600_000;

let harness: Harness;
let commands: Commands;
let operator: Operator;
let operations: PaymentOperations;
let reviews: PaymentReviews;
let records: PaymentRecords;

/** Creates a bill, and pays it. */
async function paid(orderId: string, input: Parameters<Harness['sandbox']['pay']>[1] = {}) {
  const bill = await harness.host.payments.createBill({ orderId, amount: '100' });
  const { payment } = await harness.sandbox.pay(bill.billId, input);
  return { ...bill, payment };
}

async function reviewOf(orderId: string) {
  await harness.settle();
  return (await reviews.list()).find((review) => review.orderId === orderId)!;
}

describe('records that operators read and act on', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [Bookkeeper], imports: [PaymentConsoleModule.register()] });
    commands = commandsOf(harness);
    operator = new Operator(`${harness.host.url}/payment-console`);
    operations = harness.host.app.get(PaymentOperations);
    reviews = harness.host.app.get(PaymentReviews);
    records = harness.host.app.get(PaymentRecords);
  });
  afterAll(async () => {
    commands.close();
    await harness.close();
  });

  test('pages of dead letters continue after a dead letter that has been replayed meanwhile', async () => {
    for (let index = 0; index < 5; index += 1) await paid(`dead-${index}`, { outcome: 'fail' });
    await harness.settle();
    const replayed: string[] = [];
    for (let page = await operations.deadLetters({}, 2); page.length > 0;) {
      for (const { deliveryId, orderId } of page) {
        await operations.replay({ deliveryId }, { operator: 'ann' });
        replayed.push(orderId);
      }
      page = await operations.deadLetters({}, 2, page.at(-1)?.deliveryId);
    }
    expect(replayed).toEqual(['dead-0', 'dead-1', 'dead-2', 'dead-3', 'dead-4']);
    await harness.settle();
    const [first] = await operations.deadLetters();
    expect(await operations.forShop('main').deadLetters({}, 10, first?.deliveryId)).toHaveLength(4);
    expect(await operations.forShop('eu').deadLetters({}, 10, first?.deliveryId)).toEqual([]);
  });

  test('an empty later page of the console does not say that there are no open reviews', async () => {
    const after = (await reviewOf((await paid('short', { amount: '50.00' })).orderId)).id;
    const { text } = await operator.open(`reviews?after=${after}`);
    expect(text).toContain('Nothing further. Show the first page');
    expect(text).not.toContain('There are no open reviews.');
    expect((await operator.open('reviews')).text).toContain('Order short');
    await reviews.dismiss(after, { operator: 'ann' });
    expect((await operator.open('reviews')).text).toContain('There are no open reviews.');
  });

  test('an accepted amount is recorded, and cannot differ from what the service states', async () => {
    const stated = await reviewOf((await paid('stated', { amount: '60.00' })).orderId);
    await expect(reviews.accept(stated.id, { operator: 'ann', amount: '99999.00' })).rejects.toThrow(
      'The service states 60.00 RUB for this payment, which is what counts: leave out "amount".',
    );
    await reviews.accept(stated.id, { operator: 'ann', amount: '60' });
    const { intentId } = stated;
    expect((await records.history(intentId))?.actions).toMatchObject([{ detail: { amount: '60.00', note: '' } }]);
    const over = await reviewOf((await paid('over', { amount: '103.00' })).orderId);
    await reviews.accept(over.id, { operator: 'ann', amount: 'none that counts' });
    expect((await records.history(over.intentId))!.actions[0]?.detail).not.toHaveProperty('amount');
  });

  test('the history of a bill with hundreds of payments shows the newest', async () => {
    await harness.sandbox.putShop('shop-main', { maxPayments: 1_000 });
    const { billId, intentId } = await harness.host.payments.createBill({ orderId: 'tried', amount: '100' });
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    for (let index = 0; index < 301; index += 1) await harness.sandbox.pay(billId, { outcome: 'fail' });
    const checks = harness.host.app.get(PaymentChecks);
    await checks.check(billId);
    const { payment } = await harness.sandbox.pay(billId);
    await harness.sandbox.clearFaults();
    await checks.check(billId);
    const { payments, events, truncated } = (await records.history(intentId))!;
    expect(payments.at(-1)).toMatchObject({ paymentId: payment.id, status: 'SUCCESS' });
    expect([events.at(-1)?.name, truncated]).toEqual(['payment.succeeded', true]);
  });

  test('an order is found by its exact id, and also without the spaces around a pasted one', async () => {
    await harness.host.payments.createBill({ orderId: ' spaced', amount: '1' });
    await harness.host.payments.createBill({ orderId: 'plain', amount: '1' });
    const found = async (text: string) => (await records.searchBills(text)).map(({ orderId }) => orderId);
    expect([await found(' spaced'), await found('spaced'), await found(' plain\n')]).toEqual([
      [' spaced'],
      [],
      ['plain'],
    ]);
    expect((await operator.open('bills?q=%20spaced')).text).toContain('1 bill found');
    await expect(harness.host.app.get(PaymentChecks).check('a\0b')).rejects.toMatchObject({ reason: 'not-found' });
  });

  test('an imported bill without a payment page does not take the place of one that can be paid', async () => {
    const bill = await harness.host.payments.createBill({ orderId: 'both', amount: '100' });
    const { billId } = await commands.foreignBill('both', '100.00');
    const createdAt = harness.clock.now().toISOString();
    const input = { orderId: 'both', billId, amount: '100', createdAt };
    await harness.host.app.get(PaymentImport).importBills([input], { operator: 'ann' });
    expect((await harness.host.payments.createBill({ orderId: 'both', amount: '100' })).billId).toBe(bill.billId);
  });

  test('a payment made before its bill became known here is reconciled on the day of the payment', async () => {
    const { billId } = await commands.foreignBill('late', '50.00');
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    const { payment } = await harness.sandbox.pay(billId);
    await harness.sandbox.clearFaults();
    harness.clock.advance(1.5 * DAY);
    const input = { orderId: 'late', billId, amount: '50.00', createdAt: harness.clock.now().toISOString() };
    await harness.host.app.get(PaymentImport).importBills([input], { operator: 'ann' });
    await harness.settle();
    const rows = [];
    const day = payment.createdAt.slice(0, 10);
    for await (const row of harness.host.app.get(PaymentReconciliation).reconcile({ day, shop: 'main' }))
      rows.push(row);
    expect(rows.filter(({ orderId }) => orderId === 'late')).toMatchObject([
      { differences: [], ledgerAmount: '50.00' },
    ]);
  });
});
