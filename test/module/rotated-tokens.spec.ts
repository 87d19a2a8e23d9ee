import { describe, expect, test } from '@jest/globals';
import { MAIN_TOKEN } from '../support/harness.js';
import { postbackFields, postForm, postJson, redirectFields } from '../support/http.js';
import { until } from '../support/until.js';
import { CACHE_MS, GAP_MS, NEXT_TOKEN, useDynamicShops } from './support/dynamic-shops.js';

describe('dynamic shops', () => {
  const shops = useDynamicShops();

  describe('a rotated token', () => {
    test('a rotated token is used once the cached settings expire', async () => {
      await shops.start();
      await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
      await shops.rotate('main');
      shops.harness.clock.advance(CACHE_MS);
      await shops.payments.createBill({ orderId: 'A-2', amount: '1' });
      expect(shops.harness.sandbox.requests.map(({ status }) => status)).toEqual([200, 200]);
    });

    test('a rotated token is used at once when the service refuses the old one', async () => {
      await shops.start();
      const { billId } = await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
      await shops.rotate('main');
      await shops.payments.createBill({ orderId: 'A-2', amount: '1' });
      expect(shops.harness.sandbox.requests.map(({ status }) => status)).toEqual([200, 401, 200]);
      await shops.harness.sandbox.pay(billId);
      await shops.harness.settle();
      expect(await shops.orders()).toEqual(['A-1']);
    });

    test('a rotated token is used at once by a check that the service refuses', async () => {
      await shops.start();
      const { billId } = await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
      await shops.rotate('main');
      await shops.harness.sandbox.pay(billId);
      shops.table.asked.length = 0;
      await shops.harness.settle();
      expect(await shops.orders()).toEqual(['A-1']);
      expect([shops.table.count('main'), shops.logged]).toEqual([1, []]);
    });

    test('a rotated token is used at once for a redirect signed with it, and a listed previous one stays accepted', async () => {
      await shops.start();
      const { orderId } = await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
      await shops.rotate('main', { previousApiTokens: [MAIN_TOKEN] });
      const to = `${shops.harness.host.url}/redirect/payment/success`;
      const take = (token: string) => postForm(to, redirectFields({ InvId: orderId, OutSum: '1.00' }, token));
      expect((await take(NEXT_TOKEN)).status).toBe(303);
      const returned = await take(MAIN_TOKEN);
      expect(returned.status).toBe(303);
      expect((await fetch(new URL(returned.headers.get('location')!, to))).status).toBe(200);
      shops.table.rows.set('main', { apiToken: NEXT_TOKEN });
      shops.harness.clock.advance(CACHE_MS);
      expect((await take(MAIN_TOKEN)).status).toBe(403);
    });

    test('a rotated token is used at once for a postback, and for a result page of another instance', async () => {
      await shops.start({ callbacks: { requirePostbackDigest: true } });
      const other = await shops.harness.start();
      const { orderId, billId } = await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
      await other.payments.shop().settings();
      await shops.rotate('main');
      const postback = postbackFields({ InvId: orderId, OutSum: '1.00', TrsId: billId }, NEXT_TOKEN);
      expect((await postJson(`${shops.harness.host.url}/postback/payment`, postback)).status).toBe(200);
      const redirect = redirectFields({ InvId: orderId, OutSum: '1.00' }, NEXT_TOKEN);
      const returned = await postForm(`${shops.harness.host.url}/redirect/payment/success`, redirect);
      const page = new URL(returned.headers.get('location')!, `${other.url}/redirect/payment/success`);
      expect((await fetch(page)).status).toBe(200);
    });

    test('requests during the look-up of a rotated token wait for it, and a failed look-up refuses none of them', async () => {
      await shops.start();
      await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
      await shops.rotate('main');
      const redirect = redirectFields({ InvId: 'A-1', OutSum: '1.00' }, NEXT_TOKEN);
      const to = `${shops.harness.host.url}/redirect/payment/success`;
      const statuses = async () => {
        const answers = await Promise.all(Array.from({ length: 8 }, () => postForm(to, redirect)));
        return [...new Set(answers.map(({ status }) => status))];
      };
      shops.table.trouble = () => Promise.reject(new Error('no answer'));
      expect([await statuses(), await statuses()]).toEqual([[503], [503]]);
      shops.harness.clock.advance(GAP_MS);
      let open = (): void => undefined;
      const gate = new Promise<void>((resolve) => (open = resolve));
      shops.table.trouble = () => gate;
      const created = Array.from({ length: 4 }, (_, at) =>
        shops.payments.createBill({ orderId: `B-${at}`, amount: '1' }),
      );
      const answered = statuses();
      const asked = async (): Promise<number> => {
        await fetch(shops.harness.host.url);
        return shops.harness.sandbox.requests.length;
      };
      await until(asked, (count) => count === 5);
      open();
      expect(await answered).toEqual([303]);
      expect(await Promise.all(created)).toHaveLength(4);
    });

    test('a rotated token signs the link to the result page once it is known', async () => {
      await shops.start();
      const other = await shops.harness.start();
      const { orderId } = await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
      await shops.rotate('main');
      await other.payments.shop().settings();
      const redirect = redirectFields({ InvId: orderId, OutSum: '1.00' }, NEXT_TOKEN);
      const returned = await postForm(`${shops.harness.host.url}/redirect/payment/success`, redirect);
      const page = new URL(returned.headers.get('location')!, `${other.url}/redirect/payment/success`);
      expect((await fetch(page)).status).toBe(200);
    });

    test('a rotated token is looked up at most every five seconds, whatever is forged', async () => {
      await shops.start();
      await shops.payments.createBill({ orderId: 'A-1', amount: '1' });
      const forge = () =>
        postForm(`${shops.harness.host.url}/redirect/payment/fail`, {
          ...redirectFields({ InvId: 'A-1', OutSum: '1.00' }),
          SignatureValue: 'A'.repeat(32),
        });
      shops.table.asked.length = 0;
      const answers = await Promise.all(Array.from({ length: 20 }, forge));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([403]));
      expect(shops.table.count('main')).toBe(1);
      shops.harness.clock.advance(GAP_MS);
      await forge();
      await forge();
      expect(shops.table.count('main')).toBe(1);
    });
  });
});
