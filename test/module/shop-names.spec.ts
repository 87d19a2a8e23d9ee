import { afterEach, describe, expect, test } from '@jest/globals';
import {
  PaymentInvalidShopError,
  PaymentOrderAlreadyPaidError,
  PaymentShopResolverError,
} from 'nestjs-payment-acceptance';
import { PaymentChecks, PaymentImport, PaymentOperations } from 'nestjs-payment-acceptance/operations';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { BillInquiry } from '../../libs/payment-acceptance/src/settlement/bill-inquiry.js';
import { environmentOf, runCommand } from '../support/commands.js';
import { EU_TOKEN, MAIN_TOKEN, moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postForm, postJson, redirectFields } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';
import { CACHE_MS, GAP_MS, MINUTE, useDynamicShops } from './support/dynamic-shops.js';

/** An installation of the service that numbers its bills and payments from 1, each paid at once. */
async function startNumberingService(): Promise<{ url: string; close: () => void }> {
  let bills = 0;
  const server = http.createServer((request, response) => {
    const answer = (body: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
    const { searchParams, pathname } = new URL(request.url!, 'http://service');
    request.resume().once('end', () => {
      if (pathname.endsWith('/create')) {
        bills += 1;
        return answer({ success: 'true', bill_id: String(bills), link_page_url: `https://pay.example/${bills}` });
      }
      const id = searchParams.get('id')!;
      const payment = { id, bill_id: id, status: 'SUCCESS', amount: '10.00', amount_received: '10.00' };
      return answer({ success: true, data: [{ ...payment, currency_in: 'RUB', created_at: '2026-01-01 00:00:00' }] });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

describe('the name of a shop', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  test('the name of a shop cannot change once it has bills, in the application or the CLI', async () => {
    harness = await startHarness();
    const { main } = moduleOptions(harness.sandboxUrl).shops;
    const startAs = (name: string) => harness.start({ options: { shops: { [name]: main! } }, only: name as 'main' });
    await startAs('renamed-in-time');
    await harness.host.payments.createBill({ orderId: 'A-1', amount: '10' });
    await expect(startAs('store')).rejects.toThrow('A shop keeps its name: call it "main".');
    const env = {
      ...environmentOf(harness),
      PAYMENT_ACCEPTANCE_SHOPS: 'store',
      PAYMENT_ACCEPTANCE_STORE_API_TOKEN: MAIN_TOKEN,
      PAYMENT_ACCEPTANCE_STORE_SHOP_ID: 'shop-main',
    };
    const { code, err } = await runCommand(['check', 'any-bill'], env);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('call it "main"') });
    await startAs('main');
    // Both names have bills, as after an upgrade from a release that did not refuse it: each goes on.
    await harness.host.dataSource.query(`UPDATE payment_acceptance.shop_state SET shop_id = NULL WHERE shop = 'main'`);
    const store = await startAs('store');
    await store.payments.createBill({ orderId: 'B-1', amount: '10' });
    await startAs('main');
    await startAs('store');
  });

  test('two shops with the same numbers at two installations of the service keep their events apart', async () => {
    const services = [await startNumberingService(), await startNumberingService()];
    const shopOf = (place: number) => ({
      shopId: '1',
      apiToken: `token-of-${place}-0123456789abcdef`,
      apiBaseUrl: services[place]!.url,
    });
    harness = await startHarness({
      providers: [EffectWriter],
      options: { shops: { main: shopOf(0), kz: shopOf(1) } },
    });
    const { payments } = harness.host;
    await payments.createBill({ orderId: 'M-1', amount: '10' });
    await payments.shop('kz').createBill({ orderId: 'K-1', amount: '10' });
    for (let minutes = 0; minutes < 5; minutes += 1) {
      harness.clock.advance(MINUTE);
      await harness.settle();
    }
    for (const service of services) service.close();
    expect((await harness.effects()).map(({ orderId }) => orderId).sort()).toEqual(['K-1', 'M-1']);
  });

  test('a bill of one shop name cannot be imported under another name of the same shop', async () => {
    const { main } = moduleOptions('http://unused').shops;
    harness = await startHarness({ providers: [EffectWriter] });
    const twins = { ...main!, apiBaseUrl: harness.sandboxUrl };
    const { payments, app } = await harness.start({ options: { shops: { main: twins, web: twins } } });
    const { billId } = await payments.shop('web').createBill({ orderId: 'A-1', amount: '10' });
    const bill = { shop: 'main', billId, orderId: 'A-1', amount: '10', createdAt: '2026-01-01T00:00:00Z' };
    for (const dryRun of [true, false]) {
      // As if the id of the shop had never been stored, or somebody had set it to NULL.
      await harness.host.dataSource.query(`UPDATE payment_acceptance.shop_state SET shop_id = NULL`);
      const { refused } = await app.get(PaymentImport).importBills([bill], { operator: 'ann', dryRun });
      expect(refused).toMatchObject([{ problems: ['Shop "web" is the same shop of the service, and has this bill.'] }]);
    }
  });

  test('a bill that is imported under two names of one shop at the same moment is taken in once', async () => {
    const { main } = moduleOptions('http://unused').shops;
    harness = await startHarness({ providers: [EffectWriter] });
    const { app } = await harness.start({ options: { shops: { main: main!, web: main! } } });
    for (let bill = 0; bill < 10; bill += 1) {
      const reports = await Promise.all(
        ['main', 'web'].map((shop) => {
          const row = {
            shop,
            billId: `bill-${bill}`,
            orderId: `A-${bill}`,
            amount: '10',
            createdAt: '2026-01-01T00:00:00Z',
          };
          return app.get(PaymentImport).importBills([row], { operator: 'ann' });
        }),
      );
      expect(reports.map(({ imported, refused }) => imported - refused.length).sort()).toEqual([-1, 1]);
    }
  });

  test('result pages are signed so that instances show them on both sides of a token rotation', async () => {
    harness = await startHarness();
    const { main } = moduleOptions(harness.sandboxUrl).shops;
    const rotated = { ...main!, apiToken: 'the-next-token-0123456789', previousApiTokens: [MAIN_TOKEN] };
    const next = await harness.start({ options: { shops: { main: rotated } } });
    await harness.host.payments.createBill({ orderId: 'A-1', amount: '10' });
    const redirect = redirectFields({ InvId: 'A-1', OutSum: '10.00' }, MAIN_TOKEN);
    for (const receiver of [harness.host, next]) {
      const returned = await postForm(`${receiver.url}/redirect/payment/success`, redirect);
      for (const { url } of [harness.host, next]) {
        const page = new URL(returned.headers.get('location')!, `${url}/redirect/payment/success`);
        expect((await fetch(page)).status).toBe(200);
      }
    }
  });
});

describe('the name of a shop of the resolver', () => {
  const shops = useDynamicShops();

  /** Waits until the settings of all shops are looked up again. */
  async function pause(): Promise<void> {
    shops.harness.clock.advance(MINUTE + CACHE_MS);
    await shops.harness.settle();
  }

  test('a renamed shop is refused, so that no paid order is billed again under the new name', async () => {
    await shops.start();
    const { billId } = await shops.payments.shop('eu').createBill({ orderId: 'E-1', amount: '10' });
    await shops.harness.sandbox.pay(billId);
    await shops.harness.settle();
    shops.table.rows.set('europe', { shopId: 'shop-eu', apiToken: EU_TOKEN });
    // While both names are in use, they live side by side.
    await shops.payments.shop('europe').createBill({ orderId: 'E-2', amount: '10' });
    shops.table.rows.delete('europe');
    shops.table.rows.delete('eu');
    shops.table.rows.set('europa', { shopId: 'shop-eu', apiToken: EU_TOKEN });
    const again = shops.payments.shop('europa').createBill({ orderId: 'E-1', amount: '10' });
    await expect(again).rejects.toThrow(PaymentInvalidShopError);
    await expect(again).rejects.toThrow('A shop keeps its name: call it "eu"');
    shops.table.rows.set('eu', { apiToken: EU_TOKEN });
    await pause();
    await expect(shops.payments.shop('eu').createBill({ orderId: 'E-1', amount: '10' })).rejects.toThrow(
      PaymentOrderAlreadyPaidError,
    );
  });

  test('a name that now means another shop creates no bills and checks none of the former, until it means the former', async () => {
    await shops.start();
    const { billId } = await shops.payments.shop('eu').createBill({ orderId: 'E-1', amount: '10' });
    shops.table.rows.set('eu', { shopId: 'shop-main', apiToken: MAIN_TOKEN });
    await pause();
    await shops.harness.sandbox.pay(billId);
    const asked = shops.harness.sandbox.requests.length;
    await pause();
    expect(shops.harness.sandbox.requests.length).toBe(asked);
    await expect(shops.payments.shop('eu').createBill({ orderId: 'N-1', amount: '10' })).rejects.toThrow(
      'eu.shopId: the tables have a shop "eu" with the id "shop-eu", not "shop-main"',
    );
    const { app } = shops.harness.host;
    await expect(app.get(PaymentChecks).check(billId, 'eu')).rejects.toThrow(PaymentInvalidShopError);
    await expect(shops.payments.shop('eu').cancelOrder('E-1')).rejects.toThrow(PaymentInvalidShopError);
    const bill = { shop: 'eu', billId: 'b-9', orderId: 'E-9', amount: '10', createdAt: '2026-01-01T00:00:00Z' };
    const imported = app.get(PaymentImport).importBills([bill], { operator: 'ann' });
    await expect(imported).rejects.toThrow(PaymentInvalidShopError);
    shops.table.rows.set('eu', { apiToken: EU_TOKEN });
    await pause();
    expect(await shops.orders()).toEqual(['E-1']);
  });

  test('a name that find() accepts but list() lacks creates no bill, since none would be checked', async () => {
    await shops.start();
    shops.table.spelling = (name) => name.toLowerCase();
    shops.table.asked.length = 0;
    const create = () => shops.payments.shop('EU').createBill({ orderId: 'E-1', amount: '10' });
    for (let call = 0; call < 2; call += 1)
      await expect(create()).rejects.toThrow('list() does not return exactly this name');
    shops.table.rows.set('new', { shopId: 'shop-eu', apiToken: EU_TOKEN });
    await shops.payments.shop('new').createBill({ orderId: 'E-1', amount: '10' });
  });

  test('many new shops at once cause few lists', async () => {
    await shops.start();
    for (let tenant = 0; tenant < 20; tenant += 1) {
      const apiToken = `the-token-of-tenant-${tenant}`;
      await shops.harness.sandbox.putShop(`shop-${tenant}`, { apiToken });
      shops.table.rows.set(`tenant-${tenant}`, { shopId: `shop-${tenant}`, apiToken });
    }
    shops.table.asked.length = 0;
    await Promise.all(
      Array.from({ length: 20 }, (_, tenant) =>
        shops.payments.shop(`tenant-${tenant}`).createBill({ orderId: `T-${tenant}`, amount: '10' }),
      ),
    );
    expect(shops.table.count('*')).toBeLessThanOrEqual(3);
  });

  test('a removed tenant does not keep new ones with the same shop of the service from selling', async () => {
    const twin = { shopId: 'shop-main', apiToken: MAIN_TOKEN };
    await shops.start();
    shops.table.rows.set('a', twin).set('b', twin);
    for (const name of ['a', 'b']) await shops.payments.shop(name).createBill({ orderId: `${name}-1`, amount: '10' });
    shops.table.rows.delete('a');
    shops.table.rows.set('c', twin);
    await pause();
    await shops.payments.shop('c').createBill({ orderId: 'c-1', amount: '10' });
  });

  test('a bill whose postback names another name of its shop is neither lost nor taken in twice', async () => {
    const twin = { shopId: 'shop-main', apiToken: MAIN_TOKEN };
    await shops.start();
    shops.table.rows.set('a', twin).set('b', twin);
    await shops.payments.shop('a').createBill({ orderId: 'A-1', amount: '10' });
    const { billId } = await shops.payments.shop('b').createBill({ orderId: 'B-1', amount: '10' });
    await shops.harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    await shops.harness.sandbox.pay(billId);
    await postJson(
      `${shops.harness.host.url}/postback/payment/a`,
      postbackFields({ InvId: 'B-1', OutSum: '10.00', TrsId: billId }, MAIN_TOKEN),
    );
    const { app } = shops.harness.host;
    for (let minutes = 0; minutes < 20; minutes += 1) {
      await pause();
      await app.get(BillInquiry, { strict: false }).runOnce();
    }
    expect(await app.get(PaymentOperations).lostBills()).toEqual([]);
    expect(await shops.orders()).toEqual(['B-1']);
    const bill = { shop: 'a', billId, orderId: 'A-1', amount: '10', createdAt: '2026-01-01T00:00:00Z' };
    const { refused } = await app.get(PaymentImport).importBills([bill], { operator: 'ann' });
    expect(refused).toMatchObject([{ problems: ['Shop "b" is the same shop of the service, and has this bill.'] }]);
  });

  test('a new name of a shop that has another is checked from its first bill on', async () => {
    await shops.start();
    await shops.payments.shop('main').createBill({ orderId: 'M-1', amount: '1' });
    await shops.harness.settle();
    shops.table.rows.set('new', { shopId: 'shop-main', apiToken: MAIN_TOKEN });
    const { billId } = await shops.payments.shop('new').createBill({ orderId: 'N-1', amount: '10' });
    await shops.harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    await shops.harness.sandbox.pay(billId);
    const postback = postbackFields({ InvId: 'N-1', OutSum: '10.00', TrsId: billId }, MAIN_TOKEN);
    expect((await postJson(`${shops.harness.host.url}/postback/payment/new`, postback)).status).toBe(200);
    await shops.harness.settle();
    expect(await shops.orders()).toEqual(['N-1']);
  });

  test('postbacks for another name of their shop do not fill the places for unknown bills', async () => {
    const twin = { shopId: 'shop-main', apiToken: MAIN_TOKEN };
    await shops.start({ callbacks: { maxUnmatched: 2 } });
    shops.table.rows.set('a', twin).set('b', twin);
    await shops.payments.shop('a').createBill({ orderId: 'A-1', amount: '10' });
    await shops.harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    const { url, app } = shops.harness.host;
    for (let order = 0; order < 4; order += 1) {
      const orderId = `B-${order}`;
      const { billId } = await shops.payments.shop('b').createBill({ orderId, amount: '10' });
      await shops.harness.sandbox.pay(billId);
      const postback = postbackFields({ InvId: orderId, OutSum: '10.00', TrsId: billId }, MAIN_TOKEN);
      expect((await postJson(`${url}/postback/payment/a`, postback)).status).toBe(200);
      for (let poll = 0; poll < 10; poll += 1) {
        await pause();
        await app.get(BillInquiry, { strict: false }).runOnce();
      }
    }
    expect(await shops.orders()).toEqual(['B-0', 'B-1', 'B-2', 'B-3']);
  });

  test('while the list fails, a shop that may have had another name gets no bill', async () => {
    await shops.start();
    await shops.payments.shop('eu').createBill({ orderId: 'E-1', amount: '10' });
    shops.table.rows.delete('eu');
    shops.table.rows.set('europa', { shopId: 'shop-eu', apiToken: EU_TOKEN });
    const { list } = shops.table;
    shops.table.list = () => Promise.reject(new Error('the database is away'));
    const create = () => shops.payments.shop('europa').createBill({ orderId: 'E-1', amount: '10' });
    await expect(create()).rejects.toThrow(PaymentShopResolverError);
    shops.table.list = list.bind(shops.table);
    shops.harness.clock.advance(GAP_MS);
    await expect(create()).rejects.toThrow('call it "eu"');
  });
});
