import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startHarness, type Harness } from '../support/harness.js';
import { postForm, postJson, postbackFields, redirectFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;

describe('invariant 1: no callback changes a payment, a result or an order', () => {
  beforeAll(async () => {
    harness = await startHarness({ providers: [EffectWriter] });
  });
  afterAll(() => harness.close());

  test('a forged postback, with the right fields and the right digest, settles nothing and is recorded', async () => {
    const bill = await harness.host.payments.createBill({ orderId: 'forged', amount: '100.05' });
    const answer = await postJson(
      `${harness.host.url}/postback/payment`,
      postbackFields({ InvId: 'forged', OutSum: '100.05', TrsId: bill.billId }),
    );
    expect([answer.status, await answer.text()]).toEqual([200, 'OK']);
    for (const pauseMs of [0, 3_000, 10_000, 30_000]) {
      harness.clock.advance(pauseMs);
      await harness.settle();
    }
    const ledger = await harness.host.ledger();
    expect(ledger.bills).toMatchObject([{ orderId: 'forged', state: 'OPEN' }]);
    expect(ledger.callbacks).toMatchObject([
      {
        kind: 'postback',
        status: 'SUCCESS',
        digest: 'match',
        billId: bill.billId,
        pending: false,
        outcome: 'unconfirmed',
      },
    ]);
    expect([ledger.payments, ledger.events, ledger.reviews, await harness.effects()]).toEqual([[], [], [], []]);
  });

  test("a Fail redirect's form, replayed to the Success URL, settles nothing and is recorded", async () => {
    const bill = await harness.host.payments.createBill({ orderId: 'replayed', amount: '10' });
    const { redirect } = await harness.sandbox.pay(bill.billId, { outcome: 'fail' });
    const fields = redirect!.fields;
    const answer = await postForm(`${harness.host.url}/redirect/payment/success`, fields);
    expect(answer.status).toBe(303);
    await harness.settle();
    const page = new URL(answer.headers.get('location')!, `${harness.host.url}/redirect/payment/success`);
    // Another payment may have succeeded, which the list does not show yet.
    expect(await (await fetch(page)).text()).toContain('Checking your payment');
    for (const pauseMs of [3_000, 10_000, 30_000]) {
      expect(await (await fetch(page)).text()).toContain('Checking your payment');
      harness.clock.advance(pauseMs);
      await harness.settle();
    }
    expect(await (await fetch(page)).text()).toContain('Payment failed');
    const { bills, callbacks } = await harness.host.ledger();
    expect(bills.find(({ orderId }) => orderId === 'replayed')).toMatchObject({ state: 'OPEN' });
    expect(callbacks.find(({ kind }) => kind === 'redirect-success')).toMatchObject({
      billId: bill.billId,
      digest: 'match',
    });
    expect((await harness.effects()).map(({ event }) => event)).toEqual(['payment.failed']);
  });

  test('a second card that succeeds is found within seconds of the redirect, without a postback', async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'second-card', amount: '10' });
    const { redirect } = await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.settle();
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    // Of both cards the redirect says the same. The list does not show the second one yet.
    const answer = await postForm(`${harness.host.url}/redirect/payment/success`, redirect!.fields);
    harness.clock.advance(2_000);
    await harness.settle();
    await harness.sandbox.pay(billId);
    harness.clock.advance(3_000);
    await harness.settle();
    const page = new URL(answer.headers.get('location')!, `${harness.host.url}/redirect/payment/success`);
    expect(await (await fetch(page)).text()).toContain('Payment received');
    await harness.sandbox.setFaults({ postbacks: { drop: 0 } });
  });

  test('a redirect that claims a payment nobody made leaves the bill open', async () => {
    await harness.host.payments.createBill({ orderId: 'claimed', amount: '55.50' });
    await postForm(
      `${harness.host.url}/redirect/payment/success`,
      redirectFields({ InvId: 'claimed', OutSum: '55.50' }),
    );
    await harness.settle();
    const { bills } = await harness.host.ledger();
    expect(bills.find(({ orderId }) => orderId === 'claimed')).toMatchObject({ state: 'OPEN' });
  });
});
