import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { postJson, postbackFields, redirectFields } from '../support/http.js';
import { ONE_ADAPTER } from '../support/adapters.js';
import { startAttackedShop, TOKENS, type AttackedShop } from './support/attacked-shop.js';
import { sendForm } from './support/sending.js';

describe.each(ONE_ADAPTER)("somebody else's identifiers, on %s", (adapter) => {
  let shop: AttackedShop;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
  });
  afterAll(() => shop.close());

  /** A postback with a digest that the payer could know, for that shop. */
  async function claim(fields: { InvId: string; TrsId: string; OutSum?: string }, name: 'main' | 'eu' = 'main') {
    const path = name === 'main' ? '/postback/payment' : '/postback/payment/eu';
    const body = postbackFields({ OutSum: '100.05', ...fields }, TOKENS[name]);
    const { status } = await postJson(shop.url + path, { ...body, CurrencyIn: name === 'main' ? 'RUB' : 'EUR' });
    expect(status).toBe(200);
  }
  const newestCallback = async () => (await shop.ledger()).callbacks[0];
  /** The bills that the service is asked about during and after the attack. */
  async function askedDuring(attack: () => Promise<void>): Promise<Set<string | null>> {
    const before = shop.requests();
    await attack();
    return new Set(shop.sandbox.requests.slice(before).map(({ billId }) => billId));
  }

  test('a small paid bill does not pay a large order that its postback names as InvId', async () => {
    const large = await shop.buy({ amount: '5000.00' });
    const small = await shop.buy({ amount: '1.00' });
    await shop.sandbox.setFaults({ postbacks: { change: { p: 1, set: { InvId: large.id, OutSum: '5000.00' } } } });
    const { fields } = await shop.pay(small.billId);
    await shop.sandbox.clearFaults();
    await claim({ InvId: large.id, TrsId: small.billId, OutSum: '5000.00' });
    await shop.settleHints();
    expect(await shop.order(large.id)).toMatchObject({ status: 'pending', paidAmount: null, events: [] });
    expect(await shop.order(small.id)).toMatchObject({ status: 'paid', paidAmount: '1.00' });
    const { bills, payments } = await shop.ledger();
    expect(payments.filter(({ orderId }) => orderId === large.id)).toEqual([]);
    expect(bills.find(({ orderId }) => orderId === large.id)).toMatchObject({ state: 'OPEN', checkedAt: null });
    const nothingChanged = await shop.watch();
    const answer = await sendForm(`${shop.url}/redirect/payment/success`, { ...fields, InvId: large.id });
    expect(answer.status).toBe(403);
    await nothingChanged();
  });

  test("the TrsId of somebody else's paid bill does not pay one's own order", async () => {
    const paid = await shop.buy();
    await shop.pay(paid.billId);
    await shop.settle();
    const mine = await shop.buy();
    const nothingChanged = await shop.watch();
    await claim({ InvId: mine.id, TrsId: paid.billId });
    await nothingChanged();
    expect(await newestCallback()).toMatchObject({ billId: paid.billId, corroboration: { order: 'mismatch' } });
    expect(await shop.order(mine.id)).toMatchObject({ status: 'pending', events: [] });
  });

  test("the TrsId of another shop's paid bill pays nothing, at the address of either shop", async () => {
    const eu = await shop.buy({ shop: 'eu' });
    await shop.pay(eu.billId);
    await shop.settle();
    const mine = await shop.buy();
    const nothingChanged = await shop.watch();
    const asked = await askedDuring(async () => {
      await claim({ InvId: mine.id, TrsId: eu.billId });
      await claim({ InvId: eu.id, TrsId: eu.billId });
      await claim({ InvId: eu.id, TrsId: mine.billId }, 'eu');
      await shop.settle();
    });
    expect([asked.has(eu.billId), asked.has(mine.billId)]).toEqual([false, false]);
    await nothingChanged();
    const { callbacks } = await shop.ledger();
    expect(callbacks.slice(0, 3)).toMatchObject([
      { shop: 'eu', billId: null, trsId: mine.billId },
      { shop: 'main', billId: null, trsId: eu.billId },
      { shop: 'main', billId: null, trsId: eu.billId },
    ]);
  });

  test('a TrsId that none of our bills has changes nothing, even if it is almost the same', async () => {
    const mine = await shop.buy();
    await shop.pay(mine.billId);
    await shop.settle();
    const unknown = [
      'b-of-nobody',
      mine.id,
      mine.billId.slice(0, -1),
      `${mine.billId}0`,
      ` ${mine.billId}`,
      `${mine.billId}\n`,
      '%',
      "' OR true --",
      '../payments?id=',
      '0',
      'null',
      'undefined',
    ];
    const nothingChanged = await shop.watch();
    const asked = await askedDuring(async () => {
      for (const TrsId of unknown) await claim({ InvId: mine.id, TrsId });
      await shop.elapse(60_000);
    });
    expect([...asked].filter((billId) => unknown.includes(billId ?? ''))).toEqual([]);
    await nothingChanged();
    const { callbacks } = await shop.ledger();
    expect(callbacks.slice(0, unknown.length).map(({ billId }) => billId)).toEqual(unknown.map(() => null));
  });

  test('a bill that the shop has not created is not adopted from its postback', async () => {
    const mine = await shop.buy();
    const made = await fetch(`${shop.sandboxUrl}/api/v1/bill/create`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKENS.main}`, 'content-type': 'application/json' },
      body: JSON.stringify({ amount: '100.05', order_id: mine.id, shop_id: 'demo-main', type: 'normal' }),
    });
    const { bill_id: billId } = (await made.json()) as { bill_id: string };
    const nothingChanged = await shop.watch();
    const asked = await askedDuring(async () => {
      await shop.pay(billId);
      await shop.settle();
    });
    expect([...asked]).not.toContain(billId);
    await nothingChanged();
    expect(await newestCallback()).toMatchObject({ billId: null, trsId: billId, digest: 'match' });
  });

  test('a redirect for an unknown order with the right digest changes nothing', async () => {
    const nothingChanged = await shop.watch();
    const callbacks = (await shop.ledger()).callbacks.length;
    const asked = await askedDuring(async () => {
      const fields = redirectFields({ InvId: 'nobodys', OutSum: '100.05' }, TOKENS.main);
      const answer = await sendForm(`${shop.url}/redirect/payment/success`, fields);
      expect([answer.status, answer.headers.get('location')]).toEqual([200, null]);
      await shop.settle();
    });
    expect([...asked]).toEqual([]);
    await nothingChanged();
    expect((await shop.ledger()).callbacks).toHaveLength(callbacks);
  });
});
