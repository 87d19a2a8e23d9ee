import { describe, expect, test } from '@jest/globals';
import { PaymentInvalidShopError, PaymentShopResolverError } from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { inspect } from 'node:util';
import { EU_TOKEN, MAIN_TOKEN } from '../support/harness.js';
import { postbackFields, postForm, postJson } from '../support/http.js';
import { CACHE_MS, GAP_MS, MINUTE, useDynamicShops } from './support/dynamic-shops.js';

describe('dynamic shops', () => {
  const shops = useDynamicShops();

  describe('a failing shop resolver', () => {
    const failures: [string, () => Promise<void>][] = [
      ['throws', () => Promise.reject(new Error('the database is down'))],
      ['does not answer', () => new Promise(() => undefined)],
    ];
    test.each(failures)(
      'a resolver that %s does not make a shop unknown: callbacks come again, and checks wait',
      async (_name, trouble) => {
        await shops.start({ shopLookup: { timeoutMs: 50 } });
        const { orderId, billId } = await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
        await shops.harness.sandbox.setFaults({ postbacks: { drop: 1 } });
        await shops.harness.sandbox.pay(billId);
        shops.harness.clock.advance(MINUTE + CACHE_MS);
        shops.table.trouble = trouble;
        const fields = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId });
        expect((await postJson(`${shops.harness.host.url}/postback/payment`, fields)).status).toBe(503);
        expect((await postForm(`${shops.harness.host.url}/redirect/payment/success`, fields)).status).toBe(503);
        await expect(shops.payments.createBill({ orderId: 'A-2', amount: '1' })).rejects.toThrow(
          PaymentShopResolverError,
        );
        await shops.harness.settle();
        expect(await shops.billStates()).toEqual(['OPEN']);
        expect((await shops.harness.host.ledger()).callbacks).toEqual([]);
        expect(shops.logged.some((line) => line.includes('know shop'))).toBe(false);

        shops.table.trouble = undefined;
        shops.harness.clock.advance(GAP_MS);
        await shops.harness.settle();
        expect(await shops.orders()).toEqual(['A-1']);
      },
    );

    test.each(failures)('a resolver that %s does not delay the shops in the options', async (_name, trouble) => {
      await shops.start();
      const local = { shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl: shops.harness.sandboxUrl };
      const shopLookup = { timeoutMs: 600_000 };
      const host = await shops.harness.start({ options: { shops: { local }, shopResolver: shops.table, shopLookup } });
      await host.payments.shop('eu').createBill({ orderId: 'E-1', amount: '1' });
      const { billId } = await host.payments.createBill({ orderId: 'A-1', amount: '1' });
      await shops.harness.sandbox.pay(billId);
      shops.harness.clock.advance(MINUTE + CACHE_MS);
      shops.table.trouble = trouble;
      await host.confirmer.runOnce();
      expect((await shops.billStates()).sort()).toEqual(['OPEN', 'PAID']);
    });

    test.each(failures)('a resolver that %s for one shop delays only that shop', async (_name, trouble) => {
      await shops.start();
      for (const name of ['main', 'eu']) {
        const { billId } = await shops.payments.shop(name).createBill({ orderId: `${name}-1`, amount: '1' });
        await shops.harness.sandbox.pay(billId);
      }
      const find = shops.table.find.bind(shops.table);
      shops.table.find = (name) => (name === 'eu' ? trouble().then(() => null) : find(name));
      shops.harness.clock.advance(MINUTE + CACHE_MS);
      await shops.harness.host.confirmer.runOnce();
      const { billId } = await shops.payments.shop('main').createBill({ orderId: 'main-2', amount: '1' });
      await shops.harness.sandbox.pay(billId);
      shops.harness.clock.advance(1_000);
      await shops.harness.settle();
      expect((await shops.orders()).sort()).toEqual(['main-1', 'main-2']);
    });

    test('a shop that a resolver lists but does not find is looked up once in five seconds, with a log line', async () => {
      await shops.start();
      const { orderId } = await shops.payments.shop('eu').createBill({ orderId: 'E-1', amount: '1' });
      const find = shops.table.find.bind(shops.table);
      let asked = 0;
      shops.table.find = (name) => {
        if (name !== 'eu') return find(name);
        asked += 1;
        return Promise.resolve(null);
      };
      shops.harness.clock.advance(MINUTE + CACHE_MS);
      for (let poll = 0; poll < 10; poll += 1) await shops.harness.host.confirmer.runOnce();
      expect([orderId, asked]).toEqual(['E-1', 1]);
      expect(shops.logged).toContainEqual(expect.stringContaining('Bills of shop "eu" are waiting'));
    });

    test('a resolver that fails does not stop the start, and its shops are checked once it answers', async () => {
      shops.table.trouble = () => Promise.reject(new Error('not yet'));
      await shops.start();
      shops.table.trouble = undefined;
      const { billId } = await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
      await shops.harness.sandbox.pay(billId);
      await shops.harness.settle();
      expect(await shops.orders()).toEqual(['A-1']);
    });

    test("a resolver's unusable settings cause an error of their own, without a token", async () => {
      await shops.start();
      shops.table.rows.set('eu', { apiToken: 'bad token', apiBaseUrl: 'ftp://x', currency: 'euro' });
      const failing = shops.payments.shop('eu').createBill({ orderId: 'A-1', amount: '1' });
      const error = await failing.catch((thrown: unknown) => thrown as PaymentInvalidShopError);
      expect(error).toBeInstanceOf(PaymentInvalidShopError);
      expect((error as PaymentInvalidShopError).problems.map((problem) => problem.split(':')[0])).toEqual([
      'shops.eu.apiToken', 'shops.eu.apiBaseUrl', 'shops.eu.currency',
    ]); // prettier-ignore
      expect(inspect(error)).not.toContain('bad token');
      const fields = postbackFields({ InvId: 'A-1', OutSum: '1.00', TrsId: 'b-1' });
      expect((await postJson(`${shops.harness.host.url}/postback/payment/eu`, fields)).status).toBe(503);
      shops.table.rows.set('eu', { apiToken: EU_TOKEN });
      expect((await shops.payments.shop('eu').settings()).name).toBe('eu');
    });
  });

  describe('a shop with a new id', () => {
    test('a shop with a new id gets new bills once a person has allowed it', async () => {
      await shops.start();
      const { billId } = await shops.payments.shop('eu').createBill({ orderId: 'E-1', amount: '1' });
      shops.table.rows.set('eu', { ...shops.table.rows.get('eu'), shopId: 'shop-main', apiToken: MAIN_TOKEN });
      shops.harness.clock.advance(MINUTE + CACHE_MS);
      const create = () => shops.payments.shop('eu').createBill({ orderId: 'E-1', amount: '1' });
      await expect(create()).rejects.toThrow('set shop_id in its row of the table shop_state to NULL');
      await shops.harness.host.dataSource.query(
        `UPDATE payment_acceptance.shop_state SET shop_id = NULL WHERE shop = 'eu'`,
      );
      const again = await create();
      expect(again.billId).not.toBe(billId);
    });
  });

  describe('a removed shop', () => {
    test('a removed shop gets no callbacks, and its bills are kept and settle once it is back', async () => {
      await shops.start();
      const { orderId, billId } = await shops.payments.shop('eu').createBill({ orderId: 'E-1', amount: '1' });
      await shops.harness.settle();
      await shops.harness.sandbox.pay(billId);
      const row = shops.table.rows.get('eu')!;
      shops.table.rows.delete('eu');
      shops.harness.clock.advance(MINUTE + CACHE_MS);
      const postback = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId }, EU_TOKEN);
      expect((await postJson(`${shops.harness.host.url}/postback/payment/eu`, postback)).status).toBe(404);
      await shops.harness.settle();
      shops.harness.clock.advance(MINUTE);
      await shops.harness.settle();
      expect(await shops.billStates()).toEqual(['OPEN']);
      expect(shops.logged).toEqual([
        expect.stringContaining('does not, or no longer, know shop "eu". Its bills (1) are kept'),
      ]);
      expect((await shops.payments.shop('eu').findBills('E-1')).length).toBe(1);
      const known = async () =>
        (await shops.harness.host.app.get(PaymentOperations).shopStates()).map(({ shop, known: is }) => [shop, is]);
      expect(await known()).toEqual([['eu', false], ['main', true]]); // prettier-ignore
      shops.table.trouble = () => Promise.reject(new Error('down'));
      expect(await known()).toEqual([['eu', null], ['main', null]]); // prettier-ignore
      shops.table.trouble = undefined;
      expect(await shops.orders()).toEqual([]);

      shops.table.rows.set('eu', row);
      shops.harness.clock.advance(MINUTE);
      await shops.harness.settle();
      expect(await shops.orders()).toEqual(['E-1']);
    });
  });
});
