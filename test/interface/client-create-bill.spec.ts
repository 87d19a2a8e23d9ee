import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  PaymentBillAddressError,
  PaymentRequestRefusedError,
  PaymentUnknownOutcomeError,
} from 'nestjs-payment-acceptance';
import { EU_TOKEN, MAIN_TOKEN } from '../support/harness.js';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';
import { formOf } from '../support/recorder.js';

let recorded: RecordedHarness;
let count = 0;
/** An order and a bill id that no other test uses. */
const fresh = () => {
  count += 1;
  return { orderId: `A-${count}`, billId: `bill-${count}` };
};
const create = (request: object = {}, shop = 'main') =>
  recorded.harness.host.payments.shop(shop).createBill({ orderId: fresh().orderId, amount: '100.05', ...request });

describe('client create bill', () => {
  beforeAll(async () => {
    recorded = await startRecordedHarness();
  });
  afterAll(() => recorded.close());

  describe('4.1 Create a bill', () => {
    test('a creation is a POST to {base_url}/api/v1/bill/create, a multipart form with the bearer token', async () => {
      recorded.recorder.answer(createdBill(fresh().billId));
      await create();
      const { method, path, query, headers } = recorded.recorder.request;
      expect([method, path, [...query]]).toEqual(['POST', '/api/v1/bill/create', []]);
      expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
      expect(headers.authorization).toBe(`Bearer ${MAIN_TOKEN}`);
    });

    test('each shop has its own base address, token and shop_id', async () => {
      recorded.recorder.answer(createdBill(fresh().billId));
      await create({}, 'eu');
      expect(recorded.recorder.request).toMatchObject({
        path: '/eu/api/v1/bill/create',
        headers: { authorization: `Bearer ${EU_TOKEN}` },
      });
      expect(Object.fromEntries(await formOf(recorded.recorder.request))).toMatchObject({
        shop_id: 'shop-eu',
        currency_in: 'EUR',
      });
    });
  });

  describe('2.1 Bill creation request fields', () => {
    test('a creation sends all fields as they were given', async () => {
      recorded.recorder.answer(createdBill(fresh().billId));
      await create({
        orderId: 'заказ 7/№1',
        amount: '12345678.90',
        description: 'Tea, "green" & black\nsecond line',
        type: 'normal',
        currency: 'USD',
        custom: '{"cart":[1,2]}',
        payerPaysCommission: true,
        name: 'Payment for tea',
      });
      expect(await formOf(recorded.recorder.request)).toEqual([
        ['amount', '12345678.90'],
        ['order_id', 'заказ 7/№1'],
        ['description', 'Tea, "green" & black\r\nsecond line'],
        ['type', 'normal'],
        ['shop_id', 'shop-main'],
        ['currency_in', 'USD'],
        ['custom', '{"cart":[1,2]}'],
        ['payer_pays_commission', '1'],
        ['name', 'Payment for tea'],
      ]);
    });

    test('a creation sends only given fields, and type normal, currency RUB and our intent as custom (assumed)', async () => {
      recorded.recorder.answer(createdBill(fresh().billId));
      const { orderId } = fresh();
      const { intentId } = await create({ orderId, amount: '100' });
      expect(await formOf(recorded.recorder.request)).toEqual([
        ['amount', '100.00'],
        ['order_id', orderId],
        ['type', 'normal'],
        ['shop_id', 'shop-main'],
        ['currency_in', 'RUB'],
        ['custom', intentId],
      ]);
    });

    test('a creation sends its fields as parts without a file name', async () => {
      recorded.recorder.answer(createdBill(fresh().billId));
      await create();
      const body = recorded.recorder.request.body.toString('utf8');
      expect(body).toContain('Content-Disposition: form-data; name="amount"');
      expect(body).not.toMatch(/filename=/);
    });
  });

  describe('2.2 Bill creation response', () => {
    test.each(['"true"', 'true', '"1"'])('a creation is understood with success as %s', async (success) => {
      const { billId, orderId } = fresh();
      recorded.recorder.answer({ body: createdBill(billId).body.replace('"true"', success) });
      expect(await create({ orderId })).toMatchObject({
        billId,
        linkUrl: `https://pay.example/link/${billId}`,
        linkPageUrl: `https://pay.example/transfer/${billId}`,
        orderId,
        attempt: 1,
        amount: '100.05',
        currency: 'RUB',
      });
    });

    test('a bill_id that is a number keeps every digit, and unknown fields are ignored', async () => {
      const body = createdBill('x', { ttl: 600, locale: null }).body.replace(
        '"bill_id":"x"',
        '"bill_id":12345678901234567890',
      );
      recorded.recorder.answer({ body, headers: { 'content-type': 'text/html' } });
      expect((await create()).billId).toBe('12345678901234567890');
    });

    test('a bill without a link_url still has a page for the payer', async () => {
      recorded.recorder.answer(createdBill(fresh().billId, { link_url: null }));
      expect(await create()).toMatchObject({
        linkUrl: null,
        linkPageUrl: expect.stringContaining('/transfer/') as unknown,
      });
    });

    test('findBills finds none for an invalid order id', async () => {
      for (const orderId of ['a\0', '']) expect(await recorded.harness.host.payments.findBills(orderId)).toEqual([]);
    });

    test.each(['javascript:alert(1)', '/transfer/1', ''])(
      'a payer is not sent to the invalid address %j, and its bill is kept',
      async (address) => {
        const { billId, orderId } = fresh();
        recorded.recorder.answer(createdBill(billId, { link_page_url: address }));
        await expect(create({ orderId })).rejects.toThrow(PaymentBillAddressError);
        expect(await recorded.harness.host.payments.findBills(orderId)).toMatchObject([{ state: 'OPEN', billId }]);
      },
    );
  });

  describe('7 Errors of the create operation: not shown (assumed)', () => {
    test.each([
      [400, '{"message":"The amount is wrong.","success":false}'],
      [422, '{"errors":{"amount":["The amount is wrong."]}}'],
      [404, ''],
      [200, '{"success":"false","message":"The amount is wrong."}'],
      [200, '{"success":false}'],
      [200, '{"success":false,"message":"The amount is wrong.","bill_id":null,"link_url":null}'],
      [200, '{"success":"0","bill_id":""}'],
      [400, '{"success":false,"bill_id":null}'],
      [422, '{"message":"The amount is wrong.","bill_id":""}'],
    ])('a creation answered %d %s is a refusal, without a bill', async (status, body) => {
      const { orderId } = fresh();
      recorded.recorder.answer({ status, body });
      await expect(create({ orderId })).rejects.toThrow(PaymentRequestRefusedError);
      expect(await recorded.harness.host.payments.findBills(orderId)).toMatchObject([
        { state: 'REJECTED', billId: null },
      ]);
    });

    test.each([
      [500, ''],
      [503, '{"message":"later"}'],
      [429, ''],
      [408, ''],
      [302, ''],
      [200, ''],
      [200, '<html>It works!</html>'],
      [200, '{"success":"true"}'],
      [200, '{"success":"perhaps","bill_id":"b"}'],
      [400, '{"success":false,"bill_id":"b"}'],
      [200, '{"success":false,"bill_id":7}'],
      [422, '{"success":false,"bill_id":{}}'],
    ])('a creation answered %d %s has an unknown outcome, and is sent once', async (status, body) => {
      const { orderId } = fresh();
      recorded.recorder.answer({ status, body, headers: { location: '/elsewhere' } });
      await expect(create({ orderId })).rejects.toThrow(PaymentUnknownOutcomeError);
      expect(recorded.recorder.requests).toHaveLength(1);
      expect(await recorded.harness.host.payments.findBills(orderId)).toMatchObject([
        { state: 'UNKNOWN', billId: null },
      ]);
    });
  });
});
