import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable, Logger, Module } from '@nestjs/common';
import {
  InjectPaymentShop,
  InvalidShopError,
  PaymentAcceptanceModule,
  PaymentShop,
  ShopNotReadError,
  ShopResolverError,
  UnknownShopError,
  type PaymentShopOptions,
} from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { inspect } from 'node:util';
import { EU_TOKEN, MAIN_TOKEN, startHarness, type Harness, type HarnessOptions } from '../support/harness.js';
import { postbackFields, postForm, postJson, redirectFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';
import { ShopTable } from '../support/shop-table.js';

const NEXT_TOKEN = 'the-next-token-0123456789';
const CACHE_MS = 30_000;
const GAP_MS = 5_000;
const MINUTE = 60_000;

@Injectable()
class Checkout {
  constructor(@InjectPaymentShop('eu') readonly eu: PaymentShop) {}
}
@Module({ imports: [PaymentAcceptanceModule.forFeature('eu')], providers: [Checkout], exports: [Checkout] })
class CheckoutModule {}

let harness: Harness;
let table: ShopTable;
let logged: string[];

describe('dynamic shops', () => {
  beforeEach(() => {
    logged = [];
    jest.spyOn(Logger.prototype, 'error').mockImplementation((line: unknown) => void logged.push(String(line)));
    table = new ShopTable();
    table.rows.set('main', { apiToken: MAIN_TOKEN }).set('eu', { apiToken: EU_TOKEN, currency: 'EUR' });
  });
  afterEach(async () => {
    await harness.close();
    jest.restoreAllMocks();
  });

  async function start(options: HarnessOptions['options'] = {}): Promise<Harness> {
    harness = await startHarness({
      providers: [EffectWriter],
      imports: [{ module: CheckoutModule }],
      options: { shops: {}, shopResolver: table, ...options },
    });
    table.url = harness.sandboxUrl;
    table.asked.length = 0;
    return harness;
  }

  const payments = () => harness.host.payments;
  const orders = async () => (await harness.effects()).map(({ orderId }) => orderId).sort();
  const bills = async () => (await harness.host.ledger()).bills;

  /** The service and the host's table get a new token for a shop; only a resolver that is asked knows of it. */
  async function rotate(shop: 'main' | 'eu', row: Partial<PaymentShopOptions> = {}): Promise<void> {
    await harness.sandbox.putShop(`shop-${shop}`, { apiToken: NEXT_TOKEN });
    table.rows.set(shop, { apiToken: NEXT_TOKEN, ...row });
  }

  describe('shops of the host’s own database', () => {
    test('are billed, receive callbacks and are settled as those of the options', async () => {
      await start();
      const [main, eu] = [payments().shop(), harness.host.app.get(Checkout).eu];
      expect([main.name, eu.name]).toEqual(['main', 'eu']);
      const paid = await main.createBill({ orderId: 'A-1', amount: '100.05' });
      const other = await eu.createBill({ orderId: 'A-2', amount: '7' });
      expect([paid.currency, other.currency]).toEqual(['RUB', 'EUR']);
      const { redirect } = await harness.sandbox.pay(paid.billId);
      await harness.sandbox.pay(other.billId);
      await harness.settle();
      expect(await orders()).toEqual(['A-1', 'A-2']);
      expect((await harness.host.ledger()).callbacks).toMatchObject([{ digest: 'match' }, { digest: 'match' }]);

      const returned = await postForm(redirect!.url, redirect!.fields);
      expect(returned.status).toBe(303);
      const page = await fetch(new URL(returned.headers.get('location')!, returned.url));
      expect(await page.text()).toContain('Payment received');
    });

    test('stand beside those of the options, which the resolver is not asked for', async () => {
      const { main } = { main: { shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl: 'http://127.0.0.1:1' } };
      await start({ shops: { main } });
      expect((await payments().shop().settings()).apiBaseUrl).toBe('http://127.0.0.1:1');
      expect((await payments().shop('eu').settings()).apiBaseUrl).toBe(harness.sandboxUrl);
      expect(table.asked).toEqual(['eu']);
    });

    test('are asked for once while their settings are kept, also by calls at the same moment', async () => {
      await start();
      const names = ['A-1', 'A-2', 'A-3'];
      await Promise.all(names.map((orderId) => payments().createBill({ orderId, amount: '1' })));
      await harness.settle();
      expect(table.count('main')).toBe(1);
      harness.clock.advance(CACHE_MS);
      await payments().shop().settings();
      expect(table.count('main')).toBe(1);
    });

    test('are followed from their first bill on: a new one need not wait until all are listed again', async () => {
      await start();
      const apiToken = 'tenant-new-0123456789abcdef';
      await harness.settle();
      await harness.sandbox.putShop('shop-new', { apiToken, resultUrl: `${harness.host.url}/postback/payment/new` });
      table.rows.set('new', { apiToken });
      const { billId } = await payments().shop('new').createBill({ orderId: 'N-1', amount: '1' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      expect(await orders()).toEqual(['N-1']);
    });

    test('are followed however many there are', async () => {
      await start();
      for (let number = 1; number <= 12; number += 1) {
        const apiToken = `tenant-${number}-0123456789abcdef`;
        await harness.sandbox.putShop(`shop-t${number}`, { apiToken });
        table.rows.set(`t${number}`, { apiToken });
        const { billId } = await payments()
          .shop(`t${number}`)
          .createBill({ orderId: `T-${number}`, amount: '1' });
        await harness.sandbox.pay(billId);
      }
      await harness.settle();
      // No postback has come: the sandbox's new shops have no Result URL.
      expect(await orders()).toEqual([]);
      harness.clock.advance(MINUTE);
      await harness.settle();
      expect(await orders()).toHaveLength(12);
    });

    test('tell their settings without a token, and their currency once they were asked', async () => {
      await start();
      const eu = payments().shop('eu');
      expect(() => eu.currency).toThrow(ShopNotReadError);
      expect(await eu.settings()).toMatchObject({ name: 'eu', shopId: 'shop-eu', currency: 'EUR' });
      expect(eu.currency).toBe('EUR');
      expect(inspect(await eu.settings(), { showHidden: true })).not.toContain(EU_TOKEN);
    });

    test('that are not there: no bill, 404 for callbacks, and a name that none can have is not looked for', async () => {
      await start();
      await expect(payments().shop('us').createBill({ orderId: 'A-1', amount: '1' })).rejects.toThrow(UnknownShopError);
      await expect(payments().shop('us').settings()).rejects.toThrow('The shop resolver does not find it either');
      expect(() => payments().shop('no such name')).toThrow(UnknownShopError);
      table.asked.length = 0;
      const fields = postbackFields({ InvId: 'A-1', OutSum: '1.00', TrsId: 'b-1' });
      expect((await postJson(`${harness.host.url}/postback/payment/us`, fields)).status).toBe(404);
      expect((await postJson(`${harness.host.url}/postback/payment/${encodeURIComponent('a b')}`, fields)).status).toBe(
        404,
      );
      expect((await postForm(`${harness.host.url}/redirect/payment/fail/us`, fields)).status).toBe(404);
      expect(table.asked).toEqual(['us']);
      expect((await harness.host.ledger()).callbacks).toEqual([]);
    });
  });

  describe('names that strangers make up', () => {
    const fields = postbackFields({ InvId: 'A-1', OutSum: '1.00', TrsId: 'b-1' });
    const post = async (name: string) =>
      (await postJson(`${harness.host.url}/postback/payment/${name}`, fields)).status;
    const dropped = async () => (await harness.host.app.get(PaymentOperations).stats()).dropped.unaskedShops;

    test('are not asked about again for five seconds, and the host’s own calls see a new shop at once', async () => {
      await start();
      expect([await post('new'), await post('new')]).toEqual([404, 404]);
      table.rows.set('new', { apiToken: 'tenant-new-0123456789abcdef' });
      expect([await post('new'), table.count('new')]).toEqual([404, 1]);
      harness.clock.advance(GAP_MS);
      expect(await post('new')).toBe(200);
      expect(await post('newer')).toBe(404);
      table.rows.set('newer', { apiToken: 'tenant-newer-0123456789abcdef' });
      expect((await payments().shop('newer').settings()).name).toBe('newer');
      expect(await post('newer')).toBe(200);
    });

    test('are asked about twenty times a second, and keep no shop that there is from its callbacks', async () => {
      table.rows.set('quiet', { apiToken: 'tenant-quiet-0123456789abcdef' });
      await start();
      const began = performance.now();
      const statuses = await Promise.all(Array.from({ length: 100 }, (_, index) => post(`made-up-${index}`)));
      const seconds = 1 + Math.floor((performance.now() - began) / 1_000);
      const [asked = 0, refused = 0] = [404, 503].map((status) => statuses.filter((each) => each === status).length);
      expect(asked + refused).toBe(100);
      expect(asked).toBeGreaterThanOrEqual(20);
      expect(asked).toBeLessThanOrEqual(20 * seconds);
      expect(table.asked.filter((name) => name.startsWith('made-up'))).toHaveLength(asked);
      expect(table.count('*')).toBeLessThanOrEqual(seconds);
      expect(await dropped()).toBe(refused);
      expect([await post('main'), await post('quiet'), await post('eu')]).toEqual([200, 200, 200]);
      expect(logged).toEqual([]);
      harness.clock.advance(1_000);
      expect(await post('another')).toBe(404);
    });

    test('stay questions that come again where neither they nor the list can be had', async () => {
      await start();
      table.trouble = () => Promise.reject(new Error('down'));
      harness.clock.advance(MINUTE);
      const statuses = await Promise.all(Array.from({ length: 60 }, (_, index) => post(`made-up-${index}`)));
      expect(new Set(statuses)).toEqual(new Set([503]));
      expect(table.count('*')).toBe(1);
      expect(logged).toHaveLength(1);
    });

    test.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__', 'prototype'])(
      '%s is no shop, also for a resolver that looks names up in a plain object',
      async (name) => {
        const rows: Record<string, PaymentShopOptions> = {};
        await start({ shopResolver: { find: (each) => Promise.resolve(rows[each]), list: () => Promise.resolve([]) } });
        expect(await post(name)).toBe(404);
        await expect((async () => payments().shop(name).settings())()).rejects.toThrow(UnknownShopError);
        expect(logged).toEqual([]);
      },
    );
  });

  describe('a changed token', () => {
    test('is seen when the settings have been kept for long enough', async () => {
      await start();
      await payments().createBill({ orderId: 'A-1', amount: '1' });
      await rotate('main');
      harness.clock.advance(CACHE_MS);
      await payments().createBill({ orderId: 'A-2', amount: '1' });
      expect(harness.sandbox.requests.map(({ status }) => status)).toEqual([200, 200]);
    });

    test('is seen at once when the service refuses the old one, by bills and by checks', async () => {
      await start();
      const { billId } = await payments().createBill({ orderId: 'A-1', amount: '1' });
      await rotate('main');
      await payments().createBill({ orderId: 'A-2', amount: '1' });
      expect(harness.sandbox.requests.map(({ status }) => status)).toEqual([200, 401, 200]);
      await harness.sandbox.pay(billId);
      await harness.settle();
      expect(await orders()).toEqual(['A-1']);
    });

    test('is seen at once by a check that the service refuses', async () => {
      await start();
      const { billId } = await payments().createBill({ orderId: 'A-1', amount: '1' });
      await rotate('main');
      await harness.sandbox.pay(billId);
      table.asked.length = 0;
      await harness.settle();
      expect(await orders()).toEqual(['A-1']);
      expect([table.count('main'), logged]).toEqual([1, []]);
    });

    test('is seen at once by a redirect that is signed with it; the one before is accepted while it is named', async () => {
      await start();
      const { orderId } = await payments().createBill({ orderId: 'A-1', amount: '1' });
      await rotate('main', { previousApiTokens: [MAIN_TOKEN] });
      const to = `${harness.host.url}/redirect/payment/success`;
      const take = (token: string) => postForm(to, redirectFields({ InvId: orderId, OutSum: '1.00' }, token));
      expect((await take(NEXT_TOKEN)).status).toBe(303);
      const returned = await take(MAIN_TOKEN);
      expect(returned.status).toBe(303);
      expect((await fetch(new URL(returned.headers.get('location')!, to))).status).toBe(200);
      table.rows.set('main', { apiToken: NEXT_TOKEN });
      harness.clock.advance(CACHE_MS);
      expect((await take(MAIN_TOKEN)).status).toBe(403);
    });

    test('is seen at once by a postback, and by a result page of another instance', async () => {
      await start({ callbacks: { requirePostbackDigest: true } });
      const other = await harness.start();
      const { orderId, billId } = await payments().createBill({ orderId: 'A-1', amount: '1' });
      await other.payments.shop().settings();
      await rotate('main');
      const postback = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId }, NEXT_TOKEN);
      expect((await postJson(`${harness.host.url}/postback/payment`, postback)).status).toBe(200);
      const redirect = redirectFields({ InvId: orderId, OutSum: '1.00' }, NEXT_TOKEN);
      const returned = await postForm(`${harness.host.url}/redirect/payment/success`, redirect);
      const page = new URL(returned.headers.get('location')!, `${other.url}/redirect/payment/success`);
      expect((await fetch(page)).status).toBe(200);
    });

    test('is what the link to the result page is made with, once it is known', async () => {
      await start();
      const other = await harness.start();
      const { orderId } = await payments().createBill({ orderId: 'A-1', amount: '1' });
      await rotate('main');
      await other.payments.shop().settings();
      const redirect = redirectFields({ InvId: orderId, OutSum: '1.00' }, NEXT_TOKEN);
      const returned = await postForm(`${harness.host.url}/redirect/payment/success`, redirect);
      const page = new URL(returned.headers.get('location')!, `${other.url}/redirect/payment/success`);
      expect((await fetch(page)).status).toBe(200);
    });

    test('is not looked for more often than every five seconds, whatever is forged', async () => {
      await start();
      await payments().createBill({ orderId: 'A-1', amount: '1' });
      const forge = () =>
        postForm(`${harness.host.url}/redirect/payment/fail`, {
          ...redirectFields({ InvId: 'A-1', OutSum: '1.00' }),
          SignatureValue: 'A'.repeat(32),
        });
      table.asked.length = 0;
      const answers = await Promise.all(Array.from({ length: 20 }, forge));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
      expect(table.count('main')).toBe(1);
      harness.clock.advance(GAP_MS);
      await forge();
      await forge();
      expect(table.count('main')).toBe(1);
    });
  });

  describe('a resolver that fails', () => {
    const failures: [string, () => Promise<void>][] = [
      ['throws', () => Promise.reject(new Error('the database is down'))],
      ['does not answer', () => new Promise(() => undefined)],
    ];
    test.each(failures)('and %s is never "no such shop": callbacks come again, checks wait', async (_name, trouble) => {
      await start({ shopLookup: { timeoutMs: 50 } });
      const { orderId, billId } = await payments().createBill({ orderId: 'A-1', amount: '1' });
      await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
      await harness.sandbox.pay(billId);
      harness.clock.advance(MINUTE + CACHE_MS);
      table.trouble = trouble;
      const fields = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId });
      expect((await postJson(`${harness.host.url}/postback/payment`, fields)).status).toBe(503);
      expect((await postForm(`${harness.host.url}/redirect/payment/success`, fields)).status).toBe(503);
      await expect(payments().createBill({ orderId: 'A-2', amount: '1' })).rejects.toThrow(ShopResolverError);
      await harness.settle();
      expect((await bills()).map(({ state }) => state)).toEqual(['OPEN']);
      expect((await harness.host.ledger()).callbacks).toEqual([]);
      expect(logged.some((line) => line.includes('knows no shop'))).toBe(false);

      table.trouble = undefined;
      harness.clock.advance(GAP_MS);
      await harness.settle();
      expect(await orders()).toEqual(['A-1']);
    });

    test('does not keep the shops of the options waiting', async () => {
      await start();
      const local = { shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl: harness.sandboxUrl };
      const host = await harness.start({ options: { shops: { local }, shopResolver: table } });
      const { billId } = await host.payments.createBill({ orderId: 'A-1', amount: '1' });
      await harness.sandbox.pay(billId);
      table.trouble = () => Promise.reject(new Error('down'));
      harness.clock.advance(MINUTE);
      expect(await host.confirmer.runOnce()).toBe(1);
      expect((await bills()).map(({ state }) => state)).toEqual(['PAID']);
      expect(logged).toContainEqual(expect.stringContaining('New and removed shops are not seen yet'));
    });

    test('at the start lets the host start; its shops are followed when it answers', async () => {
      table.trouble = () => Promise.reject(new Error('not yet'));
      await start();
      table.trouble = undefined;
      const { billId } = await payments().createBill({ orderId: 'A-1', amount: '1' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      expect(await orders()).toEqual(['A-1']);
    });

    test('and settings that cannot be used are an error of their own, without a token', async () => {
      await start();
      table.rows.set('eu', { apiToken: 'bad token', apiBaseUrl: 'ftp://x', currency: 'euro' });
      const failing = payments().shop('eu').createBill({ orderId: 'A-1', amount: '1' });
      const error = await failing.catch((thrown: unknown) => thrown as InvalidShopError);
      expect(error).toBeInstanceOf(InvalidShopError);
      expect((error as InvalidShopError).problems.map((problem) => problem.split(':')[0])).toEqual([
      'shops.eu.apiToken', 'shops.eu.apiBaseUrl', 'shops.eu.currency',
    ]); // prettier-ignore
      expect(inspect(error)).not.toContain('bad token');
      const fields = postbackFields({ InvId: 'A-1', OutSum: '1.00', TrsId: 'b-1' });
      expect((await postJson(`${harness.host.url}/postback/payment/eu`, fields)).status).toBe(503);
      table.rows.set('eu', { apiToken: EU_TOKEN });
      expect((await payments().shop('eu').settings()).name).toBe('eu');
    });
  });

  describe('a shop that is removed', () => {
    test('gets no callbacks; its bills are kept and said, and settle when it is back', async () => {
      await start();
      const { orderId, billId } = await payments().shop('eu').createBill({ orderId: 'E-1', amount: '1' });
      await harness.settle();
      await harness.sandbox.pay(billId);
      const row = table.rows.get('eu')!;
      table.rows.delete('eu');
      harness.clock.advance(MINUTE + CACHE_MS);
      const postback = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId }, EU_TOKEN);
      expect((await postJson(`${harness.host.url}/postback/payment/eu`, postback)).status).toBe(404);
      await harness.settle();
      harness.clock.advance(MINUTE);
      await harness.settle();
      expect(await bills()).toMatchObject([{ state: 'OPEN' }]);
      expect(logged).toEqual([expect.stringContaining('knows no shop "eu" (any more). Its 1 bills are kept')]);
      expect((await payments().shop('eu').findBills('E-1')).length).toBe(1);
      const known = async () =>
        (await harness.host.app.get(PaymentOperations).shopStates()).map(({ shop, known: is }) => [shop, is]);
      expect(await known()).toEqual([['eu', false], ['main', true]]); // prettier-ignore
      table.trouble = () => Promise.reject(new Error('down'));
      expect(await known()).toEqual([['eu', null], ['main', null]]); // prettier-ignore
      table.trouble = undefined;
      expect(await orders()).toEqual([]);

      table.rows.set('eu', row);
      harness.clock.advance(MINUTE);
      await harness.settle();
      expect(await orders()).toEqual(['E-1']);
    });
  });
});
