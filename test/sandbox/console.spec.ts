import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startPaymentSandbox } from 'nestjs-payment-sandbox';
import { LocalOnlyGuard } from '../../libs/payment-sandbox/src/console/local-only.guard.js';
import { type Answer, Fixture } from './fixture.js';

const HTML = { accept: 'text/html' };
const PLACES = ['ledger', 'faults', 'clock', 'shops', 'shops/main', 'behaviours', 'interface'];

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

  /** With any Host, which fetch does not allow. */
  function statusFor(path: string, host: string, method = 'GET'): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      httpRequest(`${fixture.url}${path}`, { method, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
  }

  describe('who may come in', () => {
    test.each(['evil.test', '127.0.0.1.evil.test', 'localhost.evil.test', 'a b', '127.0.0.1@evil.test'])(
      'nobody by the name %j: a site that gives its name this machine’s address',
      async (host) => {
        for (const path of ['/sandbox', '/sandbox/shops', '/sandbox/console/shops', '/sandbox/console/faults']) {
          expect([path, await statusFor(path, host)]).toEqual([path, 403]);
        }
        expect(await statusFor('/sandbox/clock', host, 'POST')).toBe(403);
      },
    );

    test.each(['localhost', '127.0.0.1:4010', '[::1]:4010', 'LOCALHOST:80'])(
      'the name %s is this machine’s',
      async (host) => {
        expect(await statusFor('/sandbox/shops', host)).toBe(200);
      },
    );

    test('payers come by any name, and find style and scripts too', async () => {
      const billId = await fixture.bill();
      for (const path of [`/transfer/${billId}`, '/sandbox/assets/style.css', '/sandbox/assets/card.js']) {
        expect([path, await statusFor(path, 'pay.test')]).toEqual([path, 200]);
      }
    });

    test('another machine only where a name is given', () => {
      const from = (remoteAddress: string, host: string, controlHosts?: string[]) => {
        const request = { method: 'GET', headers: { host }, socket: { remoteAddress } };
        const context = { switchToHttp: () => ({ getRequest: () => request }) };
        const guard = new LocalOnlyGuard(controlHosts ? { controlHosts } : {});
        return () => guard.canActivate(context as never);
      };
      expect(from('::ffff:127.0.0.1', 'localhost')()).toBe(true);
      expect(from('::1', '[::1]:4010')()).toBe(true);
      expect(from('10.0.0.7', 'localhost')).toThrow('answers this machine only');
      expect(from('::ffff:10.0.0.7', 'localhost')).toThrow('answers this machine only');
      expect(from('10.0.0.7', 'sandbox:4010', ['sandbox'])()).toBe(true);
      expect(from('10.0.0.7', 'evil.test', ['sandbox'])).toThrow('does not answer to the name "evil.test"');
    });

    test.each([
      [{ origin: 'https://evil.test' }],
      [{ origin: 'null' }],
      [{ origin: 'http://127.0.0.1:1' }],
      [{ 'sec-fetch-site': 'cross-site' }],
      [{ 'sec-fetch-site': 'same-site' }],
    ])('a page of another site changes nothing: %j', async (headers) => {
      const billId = await fixture.bill();
      expect((await submit(`bills/${billId}/pay`, { card: '4111111111111111' }, headers)).status).toBe(403);
      expect((await submit('faults/postbacks/drop', { on: 'yes' }, headers)).status).toBe(403);
      for (const [method, path] of [
        ['POST', `/bills/${billId}/pay`],
        ['POST', '/clock'],
        ['PUT', '/faults'],
        ['DELETE', '/faults'],
        ['PUT', '/shops/main'],
      ] as const) {
        const answer = await fixture.call(`/sandbox${path}`, { method, body: '{}', headers });
        expect([path, answer.status]).toEqual([path, 403]);
      }
      expect(fixture.sandbox.bill(billId).payments).toEqual([]);
      expect(fixture.sandbox.faults()).toEqual({});
    });

    test('its own pages, and programs, do', async () => {
      const billId = await fixture.bill();
      const own = { origin: fixture.url, 'sec-fetch-site': 'same-origin' };
      const answer = await submit(`bills/${billId}/pay`, { card: '4111111111111111' }, own);
      expect([answer.status, answer.headers.get('location')]).toEqual([
        303,
        expect.stringMatching(`^/sandbox/console/bills/${billId}#payment-`),
      ]);
      expect((await fixture.control('POST', `/bills/${billId}/pay`, {})).status).toBe(200);
    });
  });

  describe('its pages', () => {
    test('for a browser HTML; for anything else JSON', async () => {
      expect((await page()).headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect((await fixture.control('GET', '')).json['behaviours']).toBeDefined();
    });

    test('escape what comes from outside, and have a strict policy', async () => {
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

    test('of what is not there say so', async () => {
      for (const path of ['bills/none', 'shops/none']) {
        const { status, text } = await page(`/console/${path}`);
        expect([status, text]).toEqual([404, expect.stringContaining('There is no')]);
      }
    });

    test('that have not changed are not sent again', async () => {
      const { headers } = await page('/console/shops');
      const etag = headers.get('etag')!;
      expect((await page('/console/shops', { 'if-none-match': etag })).status).toBe(304);
      await fixture.sandbox.putShop('new', { apiToken: 'token-of-new' });
      expect((await page('/console/shops', { 'if-none-match': etag })).status).toBe(200);
    });

    test('of bills go back fifty at a time', async () => {
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
    test('keeps the first visits of a bill, and no more', async () => {
      const billId = await fixture.bill();
      for (let visits = 0; visits < 45; visits += 1) await fixture.call(`/transfer/${billId}`);
      const { text } = await page(`/console/bills/${billId}`);
      expect(text.match(/Payment page opened/g)).toHaveLength(40);
    });

    test('tells what the shop asked, and the faults that it met', async () => {
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

  describe('replays', () => {
    test('of an unchanged form send what was sent, line breaks in custom included', async () => {
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

    test('take a field whose name every object has like any other', async () => {
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

  describe('a shop’s ledger', () => {
    test('is read at the address of the shop’s settings, and held against the bills', async () => {
      const answers: [number, string][] = [];
      const shop = createServer((_request, response) => {
        const [status, body] = answers.shift() ?? [200, '{"bills":[],"payments":[],"events":[],"reviews":[]}'];
        response.writeHead(status, { location: '/elsewhere' }).end(body);
      });
      await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
      const ledgerUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/ledger`;
      const running = await startPaymentSandbox({ shops: { main: { apiToken: 't', ledgerUrl } }, logger: false });
      try {
        const read = async () => (await fetch(`${running.url}/sandbox/ledger`)).json() as Promise<object[]>;
        expect(await read()).toEqual([
          {
            url: ledgerUrl,
            shops: ['main'],
            problem: null,
            absent: false,
            checks: expect.arrayContaining([]) as unknown,
          },
        ]);
        for (const [status, body, problem] of [
          [500, '', 'it answers with 500'],
          [200, 'x', 'its answer is not JSON'],
          [200, '[]', 'its answer has no list "bills"'],
          [302, '', 'it answers with 302'],
        ] as const) {
          answers.push([status, body]);
          // Another address is asked at once; one that has just been asked is not.
          await running.sandbox.putShop('main', { ledgerUrl: `${ledgerUrl}?${status}${body.length}` });
          expect(await read()).toMatchObject([{ problem: expect.stringContaining(problem), checks: [] }]);
        }
        const console = async () =>
          (await fetch(`${running.url}/sandbox`, { headers: HTML }))
            .text()
            .then((text) => text.replace(/<[^>]*>/g, ' '));
        expect(await console()).toMatch(/Shop’s records\s+cannot be read/);
        // A shop that nobody has, or without such an address, is no reason to warn.
        answers.push([404, '']);
        for (const nobody of ['http://127.0.0.1:9/ledger', `${ledgerUrl}?404`]) {
          await running.sandbox.putShop('main', { ledgerUrl: nobody });
          expect(await console()).toMatch(/Shop’s records\s+not compared/);
          expect(await read()).toMatchObject([{ problem: expect.any(String), absent: true }]);
        }
        await running.sandbox.putShop('main', { ledgerUrl: null });
        expect(await running.sandbox.compareLedgers()).toEqual([]);
      } finally {
        await running.close();
        shop.close();
      }
    });
  });
});
