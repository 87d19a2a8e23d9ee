import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Controller, Module, Post } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PaymentSandbox, PaymentSandboxModule, startPaymentSandbox } from 'nestjs-payment-sandbox';
import { answerOf, Fixture } from './fixture.js';

describe('the control interface', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open();
  });
  afterAll(() => fixture.close());

  test('a shop is made with defaults, changed setting by setting, and read', async () => {
    const made = await fixture.control('PUT', '/shops/new', { apiToken: 'token-of-new' });
    const settings = {
      id: 'new',
      apiToken: 'token-of-new',
      successUrl: null,
      failUrl: null,
      resultUrl: null,
      postbackFormat: 'json',
      postbackSignature: 'redirect-formula',
      commissionPercent: 0,
      banned: false,
      maxPayments: 100,
      name: null,
      billAddresses: false,
      roundAmounts: false,
      creationSuccess: 'text',
    };
    expect([made.status, made.json]).toEqual([200, settings]);
    const changed = await fixture.control('PUT', '/shops/new', { banned: true, commissionPercent: '2.5' });
    expect(changed.json).toEqual({ ...settings, banned: true, commissionPercent: 2.5 });
    const read = await fixture.control('GET', '/shops/new');
    expect(read.json).toEqual(changed.json);
    expect((await fixture.control('PUT', '/shops/new', read.json)).status).toBe(200);
    expect(JSON.parse((await fixture.control('GET', '/shops')).text)).toHaveLength(3);
  });

  test('optional fields may be null', async () => {
    const none = { outcome: null, amount: null, currency: null };
    const { json } = await fixture.control('POST', `/bills/${await fixture.bill()}/pay`, none);
    expect(json).toMatchObject({ payment: { status: 'SUCCESS', amount: '100.05' } });
  });

  test('settings of a fault may be null, and it occurs as without them', async () => {
    const settings = { p: null, times: null, status: null };
    const faults = { seed: null, requests: null, postbacks: { drop: settings, delay: null } };
    const { status, json: kept } = await fixture.control('PUT', '/faults', faults);
    expect([status, kept]).toEqual([200, { postbacks: { drop: {} } }]);
    const billId = await fixture.bill();
    await fixture.sandbox.pay(billId);
    await fixture.sandbox.settled();
    expect(fixture.sandbox.bill(billId).callbacks).toMatchObject([{ state: 'dropped' }]);
    await fixture.control('PUT', '/faults', {});
  });

  test('a bill is shown with its payments, and every callback with its answer', async () => {
    const billId = await fixture.bill();
    const { status, json } = await fixture.control('POST', `/bills/${billId}/pay`, { card: '4111 1111 1111 1111' });
    expect(status).toBe(200);
    expect(json).toEqual({
      payment: expect.objectContaining({ billId, status: 'SUCCESS', amount: '100.05' }),
      redirect: { url: `${fixture.shopServer.url}/success`, fields: expect.objectContaining({ InvId: 'order-1' }) },
    });
    await fixture.sandbox.settled();
    const shown = await fixture.control('GET', `/bills/${billId}`);
    expect(shown.json).toMatchObject({
      id: billId,
      paid: true,
      payments: [json['payment']],
      callbacks: [
        { kind: 'postback', state: 'delivered', fields: { TrsId: billId }, tries: [{ status: 200, body: 'OK' }] },
      ],
    });
    expect(JSON.parse((await fixture.control('GET', '/bills')).text)).toContainEqual(
      expect.objectContaining({ id: billId, paid: true }),
    );
  });

  test('the clock can be advanced', async () => {
    const before = (await fixture.control('GET', '/clock')).json['now'] as string;
    const after = (await fixture.control('POST', '/clock', { advance: '3d' })).json['now'] as string;
    const days = (Date.parse(after) - Date.parse(before)) / 86_400_000;
    expect(days).toBeGreaterThanOrEqual(3);
    expect(days).toBeLessThan(3.01);
  });

  test.each([
    ['PUT', '/shops/a', {}, 400, 'apiToken'],
    ['PUT', '/shops/a', { apiToken: 'token-of-main' }, 400, 'main'],
    ['PUT', '/shops/a', { apiToken: 'with space' }, 400, 'apiToken'],
    ['PUT', '/shops/a%2Fb', { apiToken: 'x' }, 400, 'shop id'],
    ['PUT', '/shops/main', { unknown: 1 }, 400, 'unknown'],
    ['PUT', '/shops/main', { id: 'other' }, 400, 'id'],
    ['PUT', '/shops/main', { resultUrl: 'ftp://x' }, 400, 'resultUrl'],
    ['PUT', '/shops/main', { resultUrl: 'x' }, 400, 'resultUrl'],
    ['PUT', '/shops/main', { postbackFormat: 'xml' }, 400, 'postbackFormat'],
    ['PUT', '/shops/main', { postbackSignature: 'md5' }, 400, 'postbackSignature'],
    ['PUT', '/shops/main', { commissionPercent: 100 }, 400, 'commissionPercent'],
    ['PUT', '/shops/main', { commissionPercent: 'x' }, 400, 'commissionPercent'],
    ['PUT', '/shops/main', { commissionPercent: 0.00001 }, 400, 'commissionPercent'],
    ['PUT', '/shops/main', { banned: 'yes' }, 400, 'banned'],
    ['PUT', '/shops/main', { maxPayments: -1 }, 400, 'maxPayments'],
    ['PUT', '/shops/main', { billAddresses: 1 }, 400, 'billAddresses'],
    ['PUT', '/shops/main', { roundAmounts: 'yes' }, 400, 'roundAmounts'],
    ['PUT', '/shops/main', { creationSuccess: 'yes' }, 400, 'creationSuccess'],
    ['PUT', '/shops/main', 'x', 400, 'JSON'],
    ['PUT', '/shops/main', [], 400, 'JSON object'],
    ['GET', '/shops/none', undefined, 404, 'none'],
    ['GET', '/bills/none', undefined, 404, 'none'],
    ['POST', '/bills/none/pay', {}, 404, 'none'],
    ['POST', '/bills/BILL/pay', { card: '1234' }, 400, 'card'],
    ['POST', '/bills/BILL/pay', { card: 4111 }, 400, 'card'],
    ['POST', '/bills/BILL/pay', { outcome: 'maybe' }, 400, 'outcome'],
    ['POST', '/bills/BILL/pay', { amount: '0' }, 400, 'amount'],
    ['POST', '/bills/BILL/pay', { amount: '1.005' }, 400, 'amount'],
    ['POST', '/bills/BILL/pay', { currency: 'GBP' }, 400, 'currency'],
    ['POST', '/bills/BILL/pay', { sum: '1' }, 400, 'sum'],
    ['POST', '/bills/BILL/forge', { set: { OutSum: 1 } }, 400, 'OutSum'],
    ['POST', '/payments/none/complete', { outcome: 'success' }, 404, 'none'],
    ['POST', '/payments/none/complete', {}, 400, 'outcome'],
    ['POST', '/callbacks/none/replay', {}, 404, 'none'],
    ['POST', '/callbacks/none/replay', { set: 'x' }, 400, 'set'],
    ['POST', '/callbacks/none/replay', { resign: 'x' }, 400, 'resign'],
    ['POST', '/clock', {}, 400, 'advance'],
    ['POST', '/clock', { advance: '-1d' }, 400, 'advance'],
    ['POST', '/clock', { advance: '99999999d' }, 400, 'advance'],
    ['POST', '/clock', { back: '1d' }, 400, 'back'],
    ['POST', '/clock', 'null', 400, 'advance'],
  ])('%s %s %j is refused with %i, naming %s', async (method, path, body, status, named) => {
    const answer = await fixture.control(method, path.replace('BILL', await fixture.bill()), body);
    expect([answer.status, answer.json['message']]).toEqual([status, expect.stringContaining(named)]);
    expect(answer.headers.get('content-type')).toBe('application/json');
  });
});

describe('the sandbox set up in code', () => {
  test('the sandbox works within a Nest application, behind its body parsers', async () => {
    const shops = { main: { apiToken: 'token' } };
    const module = await Test.createTestingModule({ imports: [PaymentSandboxModule.forRoot({ shops })] }).compile();
    const app = module.createNestApplication();
    await app.listen(0, '127.0.0.1');
    try {
      const url = `http://127.0.0.1:${((app.getHttpServer() as Server).address() as AddressInfo).port}`;
      const headers = { authorization: 'Bearer token' };
      const json = { 'content-type': 'application/json' };
      const address = `${url}/api/v1/bill/create`;
      const multipart = new FormData();
      multipart.set('amount', '5');
      const answers = [
        await fetch(address, { method: 'POST', headers, body: multipart }),
        await fetch(address, { method: 'POST', headers, body: new URLSearchParams({ amount: '5' }) }),
        await fetch(address, {
          method: 'POST',
          headers: { ...headers, ...json },
          body: '{"amount":5,"custom":{"a":1}}',
        }),
      ];
      const sandbox = app.get(PaymentSandbox);
      for (const answer of answers) {
        const { json } = await answerOf(answer);
        expect(json['link_page_url']).toBe(`${url}/transfer/${json['bill_id'] as string}`);
        expect(sandbox.bill(json['bill_id'] as string).amount).toBe('5.00');
      }
      const [bill] = sandbox.bills();
      const form = new URLSearchParams({ card: '4111111111111111', expiry: '12/40', cvc: '123' });
      expect(
        (await fetch(`${url}/transfer/${bill!.id}`, { method: 'POST', body: form, redirect: 'manual' })).status,
      ).toBe(303);
      const faults = { method: 'PUT', headers: json, body: '{"requests":{"status500":1}}' };
      expect((await fetch(`${url}/sandbox/faults`, faults)).status).toBe(200);
    } finally {
      await app.close();
    }
  });

  test('the sandbox leaves the host its own routes below /api, and refuses other methods of its two', async () => {
    @Controller('api/orders')
    class OrdersController {
      @Post()
      create(): object {
        return { made: true };
      }
    }
    @Module({ controllers: [OrdersController] })
    class OrdersModule {}
    const sandbox = PaymentSandboxModule.forRoot({ shops: { main: { apiToken: 'token' } } });
    const module = await Test.createTestingModule({ imports: [sandbox, OrdersModule] }).compile();
    const app = module.createNestApplication();
    await app.listen(0, '127.0.0.1');
    try {
      const url = await app.getUrl();
      expect((await fetch(`${url}/api/orders`, { method: 'POST' })).status).toBe(201);
      const refused = await answerOf(await fetch(`${url}/api/v1/bill/create`));
      expect([refused.status, refused.json['success']]).toEqual([404, false]);
    } finally {
      await app.close();
    }
  });

  test("the address of the payer's pages can be set separately", async () => {
    const options = { shops: { main: { apiToken: 'token' } }, payUrl: 'https://pay.test/' };
    const { url, close } = await startPaymentSandbox(options);
    try {
      const init = { method: 'POST', headers: { authorization: 'Bearer token' } };
      const { json } = await answerOf(await fetch(`${url}/api/v1/bill/create?amount=1`, init));
      expect(json['link_url']).toBe(`https://pay.test/link/${json['bill_id'] as string}`);
    } finally {
      await close();
    }
  });

  test.each([
    [{ shops: { main: {} } }, 'apiToken'],
    [{ shops: { a: { apiToken: 't' }, b: { apiToken: 't' } } }, 'belongs to one shop'],
    [{ shops: { 'a/b': { apiToken: 't' } } }, 'shop id'],
    [{ postbackRetryDelays: ['soon'] }, 'postbackRetryDelays'],
    [{ postbackTimeout: 5 }, 'postbackTimeout'],
  ])('invalid options %j are refused at the start', async (options, named) => {
    await expect(startPaymentSandbox({ ...(options as object), logger: false })).rejects.toThrow(named);
  });
});
