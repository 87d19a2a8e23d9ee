import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { signatureOf, TEST_CARDS } from 'nestjs-payment-sandbox';
import { Fixture, StillClock, TOKEN } from './fixture.js';

describe('payments', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await Fixture.open({ clock: new StillClock() });
  });
  afterEach(() => fixture.close());

  const statuses = async (billId: string) => {
    const { json } = await fixture.payments(billId);
    return (json['data'] as { status: string }[]).map(({ status }) => status);
  };
  const told = async () => {
    await fixture.sandbox.settled();
    return fixture.shopServer.bodies.map(({ Status }) => Status);
  };

  test.each([
    ['4111 1111 1111 1111', ['SUCCESS'], ['SUCCESS'], ['SUCCESS']],
    ['4000 0000 0000 0002', ['FAIL'], ['FAIL'], ['FAIL']],
    ['4000 0000 0000 0077', ['PROCESS'], ['SUCCESS'], ['SUCCESS']],
    ['4000 0000 0000 0119', ['PROCESS'], ['FAIL'], ['FAIL']],
    ['4000 0000 0000 3220', ['PROCESS'], ['PROCESS'], []],
    ['4000 0000 0000 0069', ['NEW'], ['NEW'], []],
    ['4000 0000 0000 0341', ['FAIL'], ['SUCCESS'], ['FAIL', 'SUCCESS']],
    ['5555 5555 5555 4444', ['SUCCESS'], ['SUCCESS'], ['SUCCESS']],
  ])('a payment with the card %s is %j at once, and %j a minute later', async (card, atOnce, later, postbacks) => {
    const billId = await fixture.bill();
    const { payment, redirect } = await fixture.sandbox.pay(billId, { card });
    expect([payment.status]).toEqual(atOnce);
    expect(await statuses(billId)).toEqual(atOnce);
    expect(redirect === null).toBe(payment.status === 'NEW' || payment.status === 'PROCESS');
    await fixture.sandbox.advanceClock('1m');
    expect(await statuses(billId)).toEqual(later);
    expect(await told()).toEqual(postbacks);
  });

  test.each([
    ['4000 0000 0000 0259', '50.03'],
    ['4000 0000 0000 3063', '101.05'],
  ])('the card %s pays %s of 100.05', async (card, amount) => {
    const { payment, redirect } = await fixture.sandbox.pay(await fixture.bill(), { card });
    expect(payment).toMatchObject({ status: 'SUCCESS', amount });
    expect(redirect!.fields['OutSum']).toBe(amount);
  });

  test('every documented card is a valid number', async () => {
    const billId = await fixture.bill();
    for (const { number } of TEST_CARDS) await fixture.sandbox.pay(billId, { card: number });
    expect(fixture.sandbox.bill(billId).payments).toHaveLength(TEST_CARDS.length);
  });

  test('a redirect has line breaks as a browser sends them, and its digest covers those', async () => {
    const billId = await fixture.bill({ order_id: 'a\nb', custom: '{\n "a": "\r\n\r"}' });
    const { redirect } = await fixture.sandbox.pay(billId, { amount: 0.30000000000000004 as unknown as string });
    const SignatureValue = signatureOf('0.30', 'a\r\nb', TOKEN);
    const custom = '{\r\n "a": "\r\n\r\n"}';
    expect(redirect!.fields).toMatchObject({ OutSum: '0.30', InvId: 'a\r\nb', custom, SignatureValue });
  });

  test('outcome, amount and currency override the card and the bill', async () => {
    const input = { card: '4000000000000002', outcome: 'success', amount: '1', currency: 'USD' } as const;
    const { payment, redirect } = await fixture.sandbox.pay(await fixture.bill(), input);
    expect(payment).toMatchObject({ status: 'SUCCESS', amount: '1.00', currency: 'USD', fromCard: '400000******0002' });
    expect(redirect!.fields).toMatchObject({ OutSum: '1.00', CurrencyIn: 'USD' });
  });

  test.each([
    ['the shop', '0', { amount: '100.05', amountReceived: '96.55', commission: '3.50' }],
    ['the payer', '1', { amount: '103.55', amountReceived: '100.05', commission: '3.50' }],
  ])('a commission of 3.5 percent borne by %s shows in list and postback', async (_who, flag, expected) => {
    await fixture.sandbox.putShop('main', { commissionPercent: 3.5 });
    const billId = await fixture.bill({ payer_pays_commission: flag });
    const { payment } = await fixture.sandbox.pay(billId);
    expect(payment).toMatchObject(expected);
    const { text } = await fixture.payments(billId);
    const { amount, amountReceived: received, commission } = expected;
    expect(text).toContain(
      `"amount":${amount},"amount_received":${received},"commission":${commission},"account_amount":${received},`,
    );
    expect(await told()).toEqual(['SUCCESS']);
    expect(fixture.shopServer.bodies[0]).toMatchObject({ OutSum: amount, Commission: commission });
  });

  describe('payments completed through the control interface', () => {
    const complete = (id: string, body: unknown) => fixture.control('POST', `/payments/${id}/complete`, body);

    test.each(['4000 0000 0000 3220', '4000 0000 0000 0069', '4000 0000 0000 0002'])(
      'a payment with the card %s can succeed late',
      async (card) => {
        const billId = await fixture.bill();
        const { payment } = await fixture.sandbox.pay(billId, { card });
        const { status, json } = await complete(payment.id, { outcome: 'success' });
        expect(status).toBe(200);
        expect(json).toMatchObject({
          payment: { id: payment.id, status: 'SUCCESS' },
          redirect: { fields: { InvId: 'order-1' } },
        });
        expect((await told()).at(-1)).toBe('SUCCESS');
      },
    );

    test('completing a payment replaces its planned result', async () => {
      const { payment } = await fixture.sandbox.pay(await fixture.bill(), { card: '4000 0000 0000 0077' });
      await complete(payment.id, { outcome: 'fail' });
      await fixture.sandbox.advanceClock('1d');
      expect(await told()).toEqual(['FAIL']);
    });

    test('a success is not taken back, unless forced', async () => {
      const { payment } = await fixture.sandbox.pay(await fixture.bill());
      expect((await complete(payment.id, { outcome: 'success' })).status).toBe(409);
      expect((await complete(payment.id, { outcome: 'fail' })).status).toBe(409);
      expect((await complete(payment.id, { outcome: 'fail', force: true })).json).toMatchObject({
        payment: { status: 'FAIL', amountReceived: '0.00' },
      });
    });
  });

  test('a bill of a banned shop cannot be paid', async () => {
    const billId = await fixture.bill();
    await fixture.sandbox.putShop('main', { banned: true });
    expect((await fixture.control('POST', `/bills/${billId}/pay`, {})).status).toBe(409);
    expect(fixture.sandbox.bill(billId).payments).toEqual([]);
  });

  test('no full card number is kept', async () => {
    const billId = await fixture.bill();
    await fixture.sandbox.pay(billId);
    const kept = JSON.stringify(fixture.sandbox.bill(billId));
    expect(kept).toContain('411111');
    expect(kept.replace(/\s/g, '')).not.toContain('4111111111111111');
  });
});
