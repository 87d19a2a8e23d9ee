import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { ONE_ADAPTER } from '../support/adapters.js';
import { startAttackedShop, type AttackedShop } from './support/attacked-shop.js';
import { sendForm } from './support/sending.js';

describe.each(ONE_ADAPTER)('an order that changes after its bill was created, on %s', (adapter) => {
  let shop: AttackedShop;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
  });
  afterAll(() => shop.close());

  /** The sample shop has no basket, so this writes the order's new price directly. */
  async function change(id: string, change: { amount?: string; currency?: string }): Promise<void> {
    await shop.dataSource.query(
      'UPDATE shop_order SET amount = coalesce($2, amount), currency = coalesce($3, currency) WHERE id = $1',
      [id, change.amount, change.currency],
    );
  }
  async function payAndSettle(billId: string): Promise<void> {
    await shop.pay(billId);
    await shop.settleHints();
  }

  test.each([
    ['has grown', { amount: '2500.00' }, 'The bill was for 100.05 RUB, but the order costs 2500.00 RUB.'],
    [
      'has grown by the least amount there is',
      { amount: '100.06' },
      'The bill was for 100.05 RUB, but the order costs 100.06 RUB.',
    ],
    ['is in another currency', { currency: 'EUR' }, 'The bill was for 100.05 RUB, but the order costs 100.05 EUR.'],
  ])('the old bill does not pay an order that %s', async (_name, changed, note) => {
    const { id, billId } = await shop.buy();
    await change(id, changed);
    await payAndSettle(billId);
    expect(await shop.order(id)).toMatchObject({ status: 'pending', paidAmount: null, note });
  });

  test('an order that grows after a failed payment is not paid by a second payment of the old bill', async () => {
    const { id, billId } = await shop.buy();
    await shop.pay(billId, { outcome: 'fail' });
    await shop.settle();
    await change(id, { amount: '2500.00' });
    await shop.elapse(5_000);
    await payAndSettle(billId);
    expect(await shop.order(id)).toMatchObject({ status: 'not_paid', paidAmount: null });
    expect((await shop.order(id)).note).toContain('the order costs 2500.00 RUB');
  });

  test('an underpaid order is not paid by a copy of the postback, nor by the redirect', async () => {
    const { id, billId } = await shop.buy();
    await change(id, { amount: '2500.00' });
    const { url, fields } = await shop.pay(billId);
    await shop.settle();
    const nothingChanged = await shop.watch();
    expect((await sendForm(url, fields)).status).toBe(303);
    const [callback] = shop.sandbox.bill(billId).callbacks;
    await shop.sandbox.replay(callback!.id);
    await nothingChanged();
  });

  test('paying again for an order that has grown does not lead to the bill of the old price', async () => {
    const { id } = await shop.buy();
    await change(id, { amount: '2500.00' });
    const requests = shop.requests();
    const answer = await sendForm(`${shop.url}/orders/${id}/pay`, []);
    expect([answer.status, answer.headers.get('location')]).toEqual([409, null]);
    expect(shop.requests()).toBe(requests);
  });

  test('only agreeing to the new price of an order that has grown creates a bill over it', async () => {
    const { id, billId } = await shop.buy();
    await change(id, { amount: '2500.00' });
    const pay = (price?: string) => sendForm(`${shop.url}/orders/${id}/pay`, price === undefined ? [] : { price });
    expect((await fetch(`${shop.url}/orders/${id}/pay`, { method: 'POST', redirect: 'manual' })).status).toBe(409);
    const told = await (await pay()).text();
    expect(told).toContain('The price has changed');
    expect(told).toContain('name="price" value="2500.00 RUB"');
    expect(told).not.toContain('newAttempt');
    for (const price of ['100.05 RUB', '2500.00 EUR', '2500.0 RUB', '0.01 RUB', 'true']) {
      const answer = await pay(price);
      expect([answer.status, answer.headers.get('location')]).toEqual([409, null]);
    }
    const agreed = await pay('2500.00 RUB');
    expect(agreed.status).toBe(303);
    const [, other] = (await shop.ledger()).bills
      .filter(({ orderId }) => orderId === id)
      .sort((a, b) => a.attempt - b.attempt);
    expect(other).toMatchObject({ amount: '2500.00', attempt: 2, state: 'OPEN' });
    expect(agreed.headers.get('location')).toContain(other!.billId!);
    expect((await pay('2500.00 RUB')).headers.get('location')).toBe(agreed.headers.get('location'));
    await payAndSettle(other!.billId!);
    expect(await shop.order(id)).toMatchObject({ status: 'paid', paidAmount: '2500.00' });
    // The payment page with the old price still works; a payment there needs a person.
    await payAndSettle(billId);
    expect(await shop.order(id)).toMatchObject({ status: 'paid', paidAmount: '2500.00' });
    expect((await shop.ledger()).reviews).toContainEqual(
      expect.objectContaining({ orderId: id, reason: 'second-payment' }),
    );
  });

  test('the buyer of an order that grew after it was paid is told not to pay again', async () => {
    const { id, billId } = await shop.buy();
    await change(id, { amount: '2500.00' });
    await payAndSettle(billId);
    const answer = await sendForm(`${shop.url}/orders/${id}/pay`, { price: '2500.00 RUB' });
    expect([answer.status, await answer.text()]).toEqual([409, expect.stringContaining('Do not pay again')]);
  });

  test('the old bill pays an order that became cheaper, and the surplus is recorded', async () => {
    const { id, billId } = await shop.buy();
    await change(id, { amount: '10.00' });
    await payAndSettle(billId);
    expect(await shop.order(id)).toMatchObject({ status: 'paid', paidAmount: '100.05' });
  });
});
