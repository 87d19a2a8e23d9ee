import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Answer, Fixture } from './fixture.js';

const HTML = { accept: 'text/html' };
const PLACES = ['faults', 'clock', 'shops', 'shops/main'];

let fixture: Fixture;

describe('console', () => {
  beforeAll(async () => {
    fixture = await Fixture.open();
  });
  afterAll(() => fixture.close());

  const page = (path = '', headers = {}): Promise<Answer> =>
    fixture.call(`/sandbox${path}`, { headers: { ...HTML, ...headers } });
  const submit = (path: string, form: Record<string, string> = {}, headers = {}): Promise<Answer> =>
    fixture.call(`/sandbox/console/${path}`, { method: 'POST', body: new URLSearchParams(form), headers });

  describe('pages of the console', () => {
    test('pages of the console are HTML for a browser, and JSON for anything else', async () => {
      expect((await page()).headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect((await fixture.control('GET', '')).json['testCards']).toBeDefined();
    });

    test('pages of the console escape foreign text, and have a strict policy', async () => {
      const markup = `<script>alert(1)</script>"'`;
      await fixture.sandbox.putShop('main', { name: markup });
      const billId = await fixture.bill({ description: markup, name: markup, order_id: markup, custom: markup });
      await fixture.sandbox.pay(billId);
      fixture.shopServer.body = markup;
      await fixture.sandbox.forge(billId, { set: { [markup]: markup } });
      await fixture.sandbox.settled();
      fixture.shopServer.body = 'OK';
      await fixture.sandbox.setFaults({ postbacks: { change: { set: { [markup]: markup } } } });
      const pages = [
        await page(),
        await page(`?q=${encodeURIComponent(markup)}`),
        await page(`/console/bills/${billId}`),
        await page(`/console/bills/${encodeURIComponent(markup)}`),
        await page(`/console/shops/${encodeURIComponent(markup)}`),
        ...(await Promise.all(PLACES.map((place) => page(`/console/${place}`)))),
        await submit('shops', { id: markup, apiToken: markup }),
      ];
      for (const { text, headers } of pages) {
        expect(text).toMatch(/^<!doctype html>/);
        expect(text).not.toContain('<script>');
        expect(text).not.toMatch(/ on\w+=| style=/);
        const policy = headers.get('content-security-policy');
        expect(policy).toContain("default-src 'none'");
        expect(policy).toContain("frame-ancestors 'none'");
        expect(policy).not.toContain('unsafe');
        expect(headers.get('cache-control')).toBe('no-store');
      }
      await fixture.sandbox.clearFaults();
      await fixture.sandbox.putShop('main', { name: null });
    });

    test('pages of the console answer 404 for unknown bills and shops', async () => {
      for (const path of ['bills/none', 'shops/none']) {
        const { status, text } = await page(`/console/${path}`);
        expect([status, text]).toEqual([404, expect.stringContaining('There is no')]);
      }
    });

    test('unchanged pages of the console are answered 304', async () => {
      const { headers } = await page('/console/shops');
      const etag = headers.get('etag')!;
      expect((await page('/console/shops', { 'if-none-match': etag })).status).toBe(304);
      await fixture.sandbox.putShop('new', { apiToken: 'token-of-new' });
      expect((await page('/console/shops', { 'if-none-match': etag })).status).toBe(200);
    });

    test('bills on the console are paged by fifty', async () => {
      const orders = Array.from({ length: 60 }, (_, index) => `paged-${index}-`);
      for (const order_id of orders) await fixture.bill({ order_id });
      const newest = await page('?q=paged-');
      const shown = ({ text }: Answer) => orders.filter((order) => text.includes(`>${order}<`));
      expect(shown(newest)).toEqual(orders.slice(10));
      const older = /href="\/sandbox(\?[^"]*before=[^"]*)"/.exec(newest.text)![1]!.replace('&amp;', '&');
      expect(shown(await page(older))).toEqual(orders.slice(0, 10));
    });
  });

  describe('the timeline', () => {
    test('the timeline keeps the first forty visits of a bill', async () => {
      const billId = await fixture.bill();
      for (let visits = 0; visits < 45; visits += 1) await fixture.call(`/transfer/${billId}`);
      const { text } = await page(`/console/bills/${billId}`);
      expect(text.match(/Payment page opened/g)).toHaveLength(40);
    });

    test("the timeline shows the shop's requests, and the faults that they met", async () => {
      const billId = await fixture.bill();
      await fixture.sandbox.setFaults({ requests: { loseAnswer: { times: 1, operation: 'payments' } } });
      await fixture.payments(billId).catch(() => undefined);
      await fixture.sandbox.clearFaults();
      for (let asked = 0; asked < 3; asked += 1) await fixture.payments(billId);
      const text = (await page(`/console/bills/${billId}`)).text.replace(/<[^>]*>|\s+/g, ' ').replace(/ +/g, ' ');
      expect(text).toContain('The shop asked for the payments: no answer (loseAnswer)');
      expect(text).toContain('The shop asked for the payments: 200 3 times');
    });
  });

  test('the timeline says that no address leads the payer back to the shop', async () => {
    await fixture.sandbox.putShop('main', { failUrl: null });
    const end = async (outcome: 'success' | 'fail', visit: boolean) => {
      const billId = await fixture.bill();
      if (visit) await fixture.call(`/transfer/${billId}`);
      await fixture.sandbox.pay(billId, { outcome });
      return (await page(`/console/bills/${billId}`)).text.replace(/<[^>]*>|\s+/g, ' ').replace(/ +/g, ' ');
    };
    expect(await end('fail', true)).toContain(
      'The payer stays on the result page: the shop has no Fail URL ( failUrl )',
    );
    expect(await end('fail', false)).not.toContain('The payer stays');
    expect(await end('success', true)).not.toContain('The payer stays');
    await fixture.sandbox.putShop('main', { failUrl: `${fixture.shopServer.url}/fail` });
  });

  describe('replays', () => {
    test('a replay of an unchanged form sends the same fields, line breaks in custom included', async () => {
      const billId = await fixture.bill({ custom: 'a\nb' });
      await fixture.sandbox.pay(billId);
      const [callback] = fixture.sandbox.bill(billId).callbacks;
      const form = Object.fromEntries(
        Object.entries(callback!.fields).map(([name, value]) => [`field.${name}`, value.replace(/[\r\n]/g, '')]),
      );
      expect((await submit(`callbacks/${callback!.id}/replay`, { ...form, 'field.Absent': '' })).status).toBe(303);
      expect((await submit(`callbacks/${callback!.id}/replay`)).status).toBe(303);
      await submit(`callbacks/${callback!.id}/replay`, { ...form, 'field.OutSum': '1.00', 'field.More': 'x' });
      const [, same, again, changed] = fixture.sandbox.bill(billId).callbacks;
      expect([same!.fields, again!.fields]).toEqual([callback!.fields, callback!.fields]);
      expect(changed!.fields).toEqual({ ...callback!.fields, OutSum: '1.00', More: 'x' });
    });

    test('a replay accepts a field named __proto__', async () => {
      const billId = await fixture.bill();
      await fixture.sandbox.pay(billId);
      const [callback] = fixture.sandbox.bill(billId).callbacks;
      const named = { 'field.constructor': 'x', 'field.toString': '', 'field.__proto__': 'y' };
      expect((await submit(`callbacks/${callback!.id}/replay`, named)).status).toBe(303);
      const sent = fixture.sandbox.bill(billId).callbacks.at(-1)!.fields;
      expect(Object.entries(sent)).toEqual([
        ...Object.entries(callback!.fields),
        ['constructor', 'x'],
        ['__proto__', 'y'],
      ]);
      const forged = await fixture.sandbox.forge(billId, {
        set: JSON.parse('{"__proto__":"z"}') as Record<string, string>,
      });
      expect(Object.entries(forged.fields)).toContainEqual(['__proto__', 'z']);
    });
  });
});
