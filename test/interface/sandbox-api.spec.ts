import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Fixture, OTHER_TOKEN, StillClock } from '../sandbox/fixture.js';

/** The specification, section by section, as the sandbox serves it. */
describe('the interface of the sandbox', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open({ clock: new StillClock() });
  });
  afterAll(() => fixture.close());

  describe('2.1, 2.2, 4.1: bill creation', () => {
    test('a multipart form makes a bill, and the answer has success as text, both addresses and the id', async () => {
      const { status, headers, json } = await fixture.create({
        description: 'Tea',
        type: 'normal',
        shop_id: 'main',
        currency_in: 'RUB',
        custom: 'cart 7',
        payer_pays_commission: '1',
        name: 'Payment for tea',
      });
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json');
      const billId = json['bill_id'] as string;
      expect(json).toEqual({
        success: 'true',
        link_url: `${fixture.url}/link/${billId}`,
        link_page_url: `${fixture.url}/transfer/${billId}`,
        bill_id: expect.stringMatching(/^\w{8,}$/),
      });
      expect(fixture.sandbox.bill(billId)).toMatchObject({
        shopId: 'main',
        orderId: 'order-1',
        amount: '100.05',
        currency: 'RUB',
        description: 'Tea',
        type: 'normal',
        name: 'Payment for tea',
        custom: 'cart 7',
        payerPaysCommission: true,
        paid: false,
      });
    });

    test('each creation makes another bill, also for the same order', async () => {
      const ids = [await fixture.bill(), await fixture.bill()];
      expect(new Set(ids).size).toBe(2);
    });
  });

  describe('2.3, 4.2: the payments of a bill', () => {
    test('a bill without payments has an empty list', async () => {
      const { status, text } = await fixture.payments(await fixture.bill());
      expect([status, text]).toEqual([200, '{"data":[],"success":true}']);
    });

    test('a listed payment has every field, amounts with both decimals, and a masked card', async () => {
      const billId = await fixture.bill({ amount: '100' });
      const { payment } = await fixture.sandbox.pay(billId);
      const { text, headers } = await fixture.payments(billId);
      expect(headers.get('content-type')).toBe('application/json');
      expect(text).toBe(
        `{"data":[{"id":"${payment.id}","bill_id":"${billId}","status":"SUCCESS","amount":100.00,` +
          '"amount_received":100.00,"commission":0.00,"account_amount":100.00,"account_currency_code":"RUB",' +
          '"from_card":"411111******1111","currency_in":"RUB","created_at":"2026-11-21 12:00:00"}],"success":true}',
      );
    });

    test('a bill may have several payments, oldest first', async () => {
      const billId = await fixture.bill();
      await fixture.sandbox.pay(billId, { outcome: 'fail' });
      await fixture.sandbox.pay(billId, { outcome: 'success' });
      await fixture.sandbox.pay(billId, { outcome: 'success' });
      const { json } = await fixture.payments(billId);
      expect((json['data'] as { status: string }[]).map(({ status }) => status)).toEqual([
        'FAIL',
        'SUCCESS',
        'SUCCESS',
      ]);
    });
  });

  describe('2.4, 5: the redirect', () => {
    const md5 = (text: string) => createHash('md5').update(text).digest('hex').toUpperCase();

    test.each([
      ['success', '/success'],
      ['fail', '/fail'],
    ] as const)('after a %s the payer goes to %s with the fields of 2.4', async (outcome, path) => {
      const billId = await fixture.bill({ amount: '100', order_id: 'order 2', custom: 'x=1&y' });
      const { redirect } = await fixture.sandbox.pay(billId, { outcome });
      expect(redirect).toEqual({
        url: `${fixture.shopServer.url}${path}`,
        fields: {
          InvId: 'order 2',
          OutSum: '100.00',
          CurrencyIn: 'RUB',
          custom: 'x=1&y',
          SignatureValue: md5('100.00:order 2:token-of-main'),
        },
      });
      expect(redirect!.fields['SignatureValue']).toMatch(/^[0-9A-F]{32}$/);
    });

    test('the redirect has no custom if the bill has none', async () => {
      const { redirect } = await fixture.sandbox.pay(await fixture.bill());
      expect(Object.keys(redirect!.fields)).toEqual(['InvId', 'OutSum', 'CurrencyIn', 'SignatureValue']);
    });
  });

  describe('2.5, 4.4: the postback', () => {
    test.each([
      ['success', 'SUCCESS'],
      ['fail', 'FAIL'],
    ] as const)('the postback of a %s has every field of 2.5, as JSON strings', async (outcome, status) => {
      const billId = await fixture.bill({ amount: '7.5', order_id: '42', currency_in: 'EUR', custom: 'c' });
      await fixture.sandbox.settled();
      fixture.shopServer.requests.length = 0;
      await fixture.sandbox.pay(billId, { outcome });
      await fixture.sandbox.settled();
      const [request] = fixture.shopServer.requests;
      expect(request!.url).toBe('/result');
      expect(request!.headers['content-type']).toBe('application/json');
      expect(request!.headers.authorization).toBeUndefined();
      expect(JSON.parse(request!.body)).toEqual({
        Status: status,
        InvId: '42',
        Commission: '0.00',
        CurrencyIn: 'EUR',
        OutSum: '7.50',
        TrsId: billId,
        custom: 'c',
        SignatureValue: expect.stringMatching(/^[0-9A-F]{32}$/) as unknown,
      });
    });
  });

  describe('5, 7: authentication and errors', () => {
    const refusal = (message: string) => ({ message, success: false });

    test.each(['', 'Bearer', 'Bearer wrong', 'Basic token-of-main', 'token-of-main', 'Bearer token-of-main x'])(
      'the Authorization %j is answered 401 on both operations',
      async (authorization) => {
        for (const [path, method] of [
          ['/api/v1/bill/create', 'POST'],
          ['/api/v1/bill/payments?id=1', 'GET'],
        ] as const) {
          const { status, json, headers } = await fixture.call(path, { method, headers: { authorization } });
          expect([status, json]).toEqual([401, refusal('Unauthenticated')]);
          expect(headers.get('content-type')).toBe('application/json');
        }
      },
    );

    test('an unknown bill, or one of another shop, is answered 403 bill_not_found', async () => {
      const billId = await fixture.bill();
      for (const answer of [await fixture.payments('unknown'), await fixture.payments(billId, OTHER_TOKEN)]) {
        expect([answer.status, answer.json]).toEqual([403, refusal('api:error.bill_not_found')]);
      }
    });

    test('a shop_id other than that of the token is answered 403 merchant_not_found', async () => {
      const billId = await fixture.bill();
      const answers = [
        await fixture.create({ shop_id: 'other' }),
        await fixture.create({ shop_id: 'unknown' }),
        await fixture.call(`/api/v1/bill/payments?id=${billId}&shop_id=other`),
      ];
      for (const { status, json } of answers) {
        expect([status, json]).toEqual([403, refusal('api:error.merchant_not_found')]);
      }
    });

    test('a banned shop is answered 403 merchant_banned', async () => {
      const billId = await fixture.bill();
      await fixture.sandbox.putShop('main', { banned: true });
      for (const { status, json } of [await fixture.payments(billId), await fixture.create()]) {
        expect([status, json]).toEqual([403, refusal('api:error.merchant_banned')]);
      }
      await fixture.sandbox.putShop('main', { banned: false });
      expect((await fixture.payments(billId)).status).toBe(200);
    });

    test('a list above the threshold of the shop is answered 400 too_many_payments', async () => {
      const billId = await fixture.bill();
      await fixture.sandbox.putShop('main', { maxPayments: 1 });
      await fixture.sandbox.pay(billId);
      expect((await fixture.payments(billId)).status).toBe(200);
      await fixture.sandbox.pay(billId);
      const { status, json } = await fixture.payments(billId);
      expect([status, json]).toEqual([400, refusal('api:error.too_many_payments')]);
      await fixture.sandbox.putShop('main', { maxPayments: 100 });
    });

    test('an unknown address of the API is a 404 in JSON', async () => {
      const { status, headers, json } = await fixture.call('/api/v1/bill/other');
      expect([status, headers.get('content-type'), json]).toEqual([404, 'application/json', refusal('Not Found')]);
    });
  });

  describe('8: amounts are decimal(10,2)', () => {
    test.each(['0.01', '99999999.99'])('a bill can have the amount %s', async (amount) => {
      expect((await fixture.create({ amount })).status).toBe(200);
    });

    test.each(['', '0', '0.00', '-1', '100000000', '1.005', 'abc', '1,50', '1e400', 'NaN', '0x10'])(
      'the amount %j is refused with 400, naming the field',
      async (amount) => {
        const { status, json } = await fixture.create({ amount });
        expect(status).toBe(400);
        expect(json).toMatchObject({
          success: false,
          message: expect.stringContaining('amount'),
          errors: { amount: [json['message']] },
        });
      },
    );

    test("an amount beyond the bound only with the payer's commission is refused", async () => {
      await fixture.sandbox.putShop('main', { commissionPercent: 5 });
      const fields = { amount: '99999999.99', payer_pays_commission: '1' };
      expect((await fixture.create(fields)).status).toBe(400);
      await fixture.sandbox.putShop('main', { commissionPercent: 0 });
      expect((await fixture.create(fields)).status).toBe(200);
    });
  });
});
