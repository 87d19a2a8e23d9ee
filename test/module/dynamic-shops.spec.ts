import { describe, expect, test } from '@jest/globals';
import { PaymentShopNotReadError, PaymentUnknownShopError, type PaymentShopOptions } from 'nestjs-payment-acceptance';
import { inspect } from 'node:util';
import { EU_TOKEN, MAIN_TOKEN } from '../support/harness.js';
import { postbackFields, postForm, postJson } from '../support/http.js';
import { CACHE_MS, Checkout, GAP_MS, MINUTE, useDynamicShops } from './support/dynamic-shops.js';

describe('dynamic shops', () => {
  const shops = useDynamicShops();

  describe('shops from the host’s own table', () => {
    test('resolved shops are billed, receive callbacks and are settled like those in the options', async () => {
      await shops.start();
      const [main, eu] = [shops.payments.shop(), shops.harness.host.app.get(Checkout).eu];
      expect([main.name, eu.name]).toEqual(['main', 'eu']);
      const paid = await main.createBill({ orderId: 'A-1', amount: '100.05' });
      const other = await eu.createBill({ orderId: 'A-2', amount: '7' });
      expect([paid.currency, other.currency]).toEqual(['RUB', 'EUR']);
      const { redirect } = await shops.harness.sandbox.pay(paid.billId);
      await shops.harness.sandbox.pay(other.billId);
      await shops.harness.settle();
      expect(await shops.orders()).toEqual(['A-1', 'A-2']);
      expect((await shops.harness.host.ledger()).callbacks).toMatchObject([{ digest: 'match' }, { digest: 'match' }]);

      const returned = await postForm(redirect!.url, redirect!.fields);
      expect(returned.status).toBe(303);
      const page = await fetch(new URL(returned.headers.get('location')!, returned.url));
      expect(await page.text()).toContain('Payment received');
    });

    test('resolved shops can be combined with those in the options, which are not looked up', async () => {
      const { main } = { main: { shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl: 'http://127.0.0.1:1' } };
      await shops.start({ shops: { main } });
      expect((await shops.payments.shop().settings()).apiBaseUrl).toBe('http://127.0.0.1:1');
      expect((await shops.payments.shop('eu').settings()).apiBaseUrl).toBe(shops.harness.sandboxUrl);
      expect(shops.table.asked).toEqual(['eu']);
    });

    test('resolved shops are looked up once while their settings are cached, even by concurrent calls', async () => {
      await shops.start();
      const names = ['A-1', 'A-2', 'A-3'];
      await Promise.all(names.map((orderId) => shops.payments.createBill({ orderId, amount: '1' })));
      await shops.harness.settle();
      expect(shops.table.count('main')).toBe(1);
      shops.harness.clock.advance(CACHE_MS);
      await shops.payments.shop().settings();
      expect(shops.table.count('main')).toBe(1);
    });

    test('a new resolved shop is checked from its first bill on, before it is next listed', async () => {
      await shops.start();
      const apiToken = 'tenant-new-0123456789abcdef';
      await shops.harness.settle();
      await shops.harness.sandbox.putShop('shop-new', {
        apiToken,
        resultUrl: `${shops.harness.host.url}/postback/payment/new`,
      });
      shops.table.rows.set('new', { apiToken });
      const { billId } = await shops.payments.shop('new').createBill({ orderId: 'N-1', amount: '1' });
      await shops.harness.sandbox.pay(billId);
      await shops.harness.settle();
      expect(await shops.orders()).toEqual(['N-1']);
    });

    test('resolved shops are all checked, however many there are', async () => {
      await shops.start();
      for (let number = 1; number <= 12; number += 1) {
        const apiToken = `tenant-${number}-0123456789abcdef`;
        await shops.harness.sandbox.putShop(`shop-t${number}`, { apiToken });
        shops.table.rows.set(`t${number}`, { apiToken });
        const { billId } = await shops.payments.shop(`t${number}`).createBill({ orderId: `T-${number}`, amount: '1' });
        await shops.harness.sandbox.pay(billId);
      }
      await shops.harness.settle();
      // The sandbox sent no postback: its new shops have no Result URL.
      expect(await shops.orders()).toEqual([]);
      shops.harness.clock.advance(MINUTE);
      await shops.harness.settle();
      expect(await shops.orders()).toHaveLength(12);
    });

    test('a resolved shop shows its settings without a token, and its currency once it was looked up', async () => {
      await shops.start();
      const eu = shops.payments.shop('eu');
      expect(() => eu.currency).toThrow(PaymentShopNotReadError);
      expect(await eu.settings()).toMatchObject({ name: 'eu', shopId: 'shop-eu', currency: 'EUR' });
      expect(eu.currency).toBe('EUR');
      expect(inspect(await eu.settings(), { showHidden: true })).not.toContain(EU_TOKEN);
    });

    test('an unknown shop gets no bill, and 404 for callbacks, without a look-up of its name', async () => {
      await shops.start();
      await expect(shops.payments.shop('us').createBill({ orderId: 'A-1', amount: '1' })).rejects.toThrow(
        PaymentUnknownShopError,
      );
      await expect(shops.payments.shop('us').settings()).rejects.toThrow('The shop resolver cannot find it either');
      expect(() => shops.payments.shop('no such name')).toThrow(PaymentUnknownShopError);
      shops.table.asked.length = 0;
      const fields = postbackFields({ InvId: 'A-1', OutSum: '1.00', TrsId: 'b-1' });
      expect((await postJson(`${shops.harness.host.url}/postback/payment/us`, fields)).status).toBe(404);
      expect(
        (await postJson(`${shops.harness.host.url}/postback/payment/${encodeURIComponent('a b')}`, fields)).status,
      ).toBe(404);
      expect((await postForm(`${shops.harness.host.url}/redirect/payment/fail/us`, fields)).status).toBe(404);
      expect(shops.table.asked).toEqual([]);
      expect((await shops.harness.host.ledger()).callbacks).toEqual([]);
    });
  });

  describe('callbacks for unknown shops', () => {
    const fields = postbackFields({ InvId: 'A-1', OutSum: '1.00', TrsId: 'b-1' });
    const post = async (name: string) =>
      (await postJson(`${shops.harness.host.url}/postback/payment/${name}`, fields)).status;

    test('callbacks for a new shop get 404 until it is listed, at most five seconds, unless the host uses it', async () => {
      await shops.start();
      expect([await post('new'), await post('new')]).toEqual([404, 404]);
      shops.table.rows.set('new', { apiToken: 'tenant-new-0123456789abcdef' });
      expect([await post('new'), shops.table.count('new')]).toEqual([404, 0]);
      shops.harness.clock.advance(GAP_MS);
      expect(await post('new')).toBe(200);
      expect(await post('newer')).toBe(404);
      shops.table.rows.set('newer', { apiToken: 'tenant-newer-0123456789abcdef' });
      expect((await shops.payments.shop('newer').settings()).name).toBe('newer');
      expect(await post('newer')).toBe(200);
    });

    test('callbacks for unknown shops cause no look-up and one listing, and block no others', async () => {
      shops.table.rows.set('quiet', { apiToken: 'tenant-quiet-0123456789abcdef' });
      await shops.start();
      const statuses = await Promise.all(Array.from({ length: 100 }, (_, index) => post(`made-up-${index}`)));
      expect(new Set(statuses)).toEqual(new Set([404]));
      expect(shops.table.asked.filter((name) => name !== '*')).toEqual([]);
      expect(shops.table.count('*')).toBeLessThanOrEqual(1);
      expect([await post('main'), await post('quiet'), await post('eu')]).toEqual([200, 200, 200]);
      expect(shops.logged).toEqual([]);
    });

    test('callbacks for a shop spelt in another letter case get 404, whatever the look-up finds', async () => {
      shops.table.spelling = (name) => name.toLowerCase();
      await shops.start();
      expect([await post('eu'), await post('Eu'), await post('eU'), await post('EU')]).toEqual([200, 404, 404, 404]);
      expect((await shops.harness.host.ledger()).callbacks).toMatchObject([{ shop: 'eu' }]);
    });

    test('callbacks for a shop that is listed but not found cause one look-up in five seconds', async () => {
      shops.table.rows.set('gone', { apiToken: 'tenant-gone-0123456789abcdef' });
      await shops.start();
      shops.table.spelling = (name) => (name === 'gone' ? 'nobody' : name);
      expect([await post('gone'), await post('gone')]).toEqual([404, 404]);
      expect(shops.table.count('gone')).toBe(1);
    });

    test('callbacks for unlisted shops get 503 if the list cannot be read', async () => {
      await shops.start();
      shops.table.trouble = () => Promise.reject(new Error('down'));
      shops.harness.clock.advance(MINUTE);
      const statuses = await Promise.all(Array.from({ length: 60 }, (_, index) => post(`made-up-${index}`)));
      expect(new Set(statuses)).toEqual(new Set([503]));
      expect(shops.table.count('*')).toBe(1);
      expect(shops.logged).toHaveLength(1);
    });

    test.each(['constructor', 'toString', 'hasOwnProperty', 'valueOf', '__proto__', 'prototype'])(
      '%s is not a shop, even for a resolver that uses a plain object',
      async (name) => {
        const rows: Record<string, PaymentShopOptions> = {};
        await shops.start({
          shopResolver: { find: (each) => Promise.resolve(rows[each]), list: () => Promise.resolve([]) },
        });
        expect(await post(name)).toBe(404);
        await expect((async () => shops.payments.shop(name).settings())()).rejects.toThrow(PaymentUnknownShopError);
        expect(shops.logged).toEqual([]);
      },
    );
  });
});
