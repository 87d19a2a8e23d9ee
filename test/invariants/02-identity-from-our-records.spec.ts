import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { EU_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { postForm, postJson, postbackFields, redirectFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;

const create = (orderId: string, amount: string) => harness.host.payments.createBill({ orderId, amount });
const newestCallback = async () => (await harness.host.ledger()).callbacks[0]!;

describe('invariant 2: identity comes from our own records', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [EffectWriter] });
  });
  afterAll(() => harness.close());

  test("a postback that names another order's InvId settles only the order its bill was made for", async () => {
    const small = await create('small', '1.00');
    await create('large', '5000.00');
    await harness.sandbox.setFaults({ postbacks: { change: { p: 1, set: { InvId: 'large' } } } });
    const { payment } = await harness.sandbox.pay(small.billId);
    await harness.settle();
    await harness.sandbox.clearFaults();
    expect(await harness.effects()).toMatchObject([{ orderId: 'small', paymentId: payment.id }]);
    const ledger = await harness.host.ledger();
    expect(ledger.callbacks[0]).toMatchObject({ orderId: 'large', corroboration: { order: 'mismatch' } });
    expect(ledger.bills.map(({ orderId, state }) => [orderId, state])).toEqual([
      ['large', 'OPEN'],
      ['small', 'PAID'],
    ]);
  });

  test("a postback's other amount, currency and custom are recorded as mismatches, and choose no bill", async () => {
    const bill = await create('corroborated', '20.00');
    const fields = postbackFields({ InvId: 'corroborated', OutSum: '19.99', TrsId: bill.billId });
    await postJson(`${harness.host.url}/postback/payment`, { ...fields, CurrencyIn: 'USD', custom: 'other' });
    expect((await newestCallback()).corroboration).toEqual({
      order: 'match',
      amount: 'mismatch',
      currency: 'mismatch',
      custom: 'mismatch',
    });
  });

  test('a bill of another shop is not found by its TrsId, and no request is made for it', async () => {
    const bill = await create('of-main', '3.00');
    const before = harness.sandbox.requests.length;
    const fields = postbackFields({ InvId: 'of-main', OutSum: '3.00', TrsId: bill.billId }, EU_TOKEN);
    expect((await postJson(`${harness.host.url}/postback/payment/eu`, fields)).status).toBe(200);
    await harness.settle();
    expect(await newestCallback()).toMatchObject({ shop: 'eu', billId: null, trsId: bill.billId });
    expect(harness.sandbox.requests.slice(before).filter(({ billId }) => billId === bill.billId)).toEqual([]);
  });

  test('a redirect is linked to its own attempt by the intent id in custom', async () => {
    const first = await create('twice', '9.00');
    const second = await harness.host.payments.createBill({ orderId: 'twice', amount: '9.00' }, { newAttempt: true });
    expect([first.attempt, second.attempt]).toEqual([1, 2]);
    const send = (custom?: string) =>
      postForm(
        `${harness.host.url}/redirect/payment/success`,
        redirectFields({ InvId: 'twice', OutSum: '9.00', ...(custom && { custom }) }),
      );
    await send(first.intentId);
    expect((await newestCallback()).billId).toBe(first.billId);
    await send();
    expect((await newestCallback()).billId).toBe(second.billId);
  });

  test("a redirect whose custom is another order's intent id is not linked to that order", async () => {
    const mine = await create('mine', '8.00');
    const yours = await create('yours', '8.00');
    await postForm(
      `${harness.host.url}/redirect/payment/success`,
      redirectFields({ InvId: 'mine', OutSum: '8.00', custom: yours.intentId }),
    );
    expect((await newestCallback()).billId).toBe(mine.billId);
  });
});
