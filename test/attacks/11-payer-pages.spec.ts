import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { issueTicket } from '../../libs/payment-acceptance/src/callbacks/result-ticket.js';
import { resolveOptions } from '../../libs/payment-acceptance/src/config/resolve-options.js';
import { EU_TOKEN, moduleOptions, startHarness, type Harness } from '../support/harness.js';
import { postForm, redirectFields } from '../support/http.js';
import { ADAPTERS } from '../support/adapters.js';
import { addressesOf, MARKUP, skeletonOf, textOf } from './support/markup.js';
import { sendRaw } from './support/sending.js';

const HOUR = 3_600_000;
const TICKET = /^(\.\.\/)*result\/([\w-]{51})$/;

describe.each(ADAPTERS)("11: the module's own pages, on %s", (adapter) => {
  let harness: Harness;
  let url: string;
  beforeAll(async () => {
    harness = await startHarness({ adapter });
    url = harness.host.url;
  });
  afterAll(() => harness.close());

  const success = (fields: Record<string, string>, shop = ''): Promise<Response> =>
    postForm(`${url}/redirect/payment/success${shop}`, fields);
  const page = (ticket: string): Promise<Response> => fetch(`${url}/redirect/payment/result/${ticket}`);

  /** The redirect of a paid, failed or unpaid bill, and its ticket. */
  async function ticketOf(orderId: string, outcome?: 'success' | 'fail'): Promise<string> {
    const { billId } = await harness.host.payments.createBill({ orderId, amount: '100.05' });
    if (outcome) await harness.sandbox.pay(billId, { outcome });
    await harness.settle();
    const answer = await success(redirectFields({ InvId: orderId, OutSum: '100.05' }));
    expect(answer.status).toBe(303);
    const ticket = TICKET.exec(answer.headers.get('location') ?? '')?.[2] ?? '';
    // The redirect asked for a check: only then is a failure more than a claim.
    harness.clock.advance(10_000);
    await harness.settle();
    return ticket;
  }

  describe('text from outside becomes no markup', () => {
    test('InvId on the neutral page of an unsigned redirect', async () => {
      const benign = await (await success({ InvId: 'A-1', OutSum: '1.00', CurrencyIn: 'RUB' })).text();
      for (const InvId of MARKUP) {
        const html = await (await success({ InvId, OutSum: '1.00', CurrencyIn: 'RUB' })).text();
        expect([InvId, skeletonOf(html)]).toEqual([InvId, skeletonOf(benign)]);
        expect(textOf(html)).toContain(`Order ${InvId}`);
      }
    });

    test.each(['success', 'fail', undefined] as const)('the order on the result page (%s)', async (outcome) => {
      const show = async (orderId: string) => (await page(await ticketOf(orderId, outcome))).text();
      const benign = await show(`A-${outcome ?? 'open'}`);
      for (const markup of MARKUP.slice(0, 9)) {
        const html = await show(`${markup} ${outcome ?? 'open'}`);
        expect([markup, skeletonOf(html)]).toEqual([markup, skeletonOf(benign)]);
        expect(textOf(html)).toContain(markup);
      }
    });

    test('nothing of a refused redirect, an unknown shop or a wrong ticket is shown at all', async () => {
      for (const markup of MARKUP) {
        const path = encodeURIComponent(markup);
        const answers = [
          await success({ ...redirectFields({ InvId: markup, OutSum: '1.00' }), OutSum: '2.00', custom: markup }),
          await success(redirectFields({ InvId: markup, OutSum: '1.00' }), `/${path}`),
          await page(path),
        ];
        expect([markup, answers.map(({ status }) => status)]).toEqual([markup, [403, 404, 404]]);
        for (const answer of answers) expect(await answer.text()).not.toContain(markup.slice(0, 12));
      }
    });

    test.each(['custom', 'name', 'description', 'CurrencyIn', 'OutSum', 'Status', 'SignatureValue'])(
      '%s of a redirect is on no page',
      async (field) => {
        for (const signed of [{}, redirectFields({ InvId: 'A-9', OutSum: '1.00' })]) {
          const fields = { InvId: 'A-9', OutSum: '1.00', CurrencyIn: 'RUB', ...signed, [field]: '<b>injected</b>' };
          const answer = await success(fields);
          expect([200, 400, 403]).toContain(answer.status);
          expect(await answer.text()).not.toContain('injected');
        }
      },
    );

    test('no page leads or loads anywhere, has a script, a handler or a style of an element', async () => {
      const paid = await ticketOf('B-1', 'success');
      const answers = [
        await success({ InvId: 'A', OutSum: '1.00', CurrencyIn: 'RUB' }),
        await page(paid),
        await page('x'),
      ];
      for (const answer of answers) {
        const html = await answer.text();
        expect(addressesOf(html)).toEqual(['width=device-width,initial-scale=1']);
        expect(skeletonOf(html).join('\n')).not.toMatch(/script|svg|form|iframe|base|link| on\w+| style/);
      }
    });
  });

  describe('headers', () => {
    /** Helmet's defaults that make sense for a page of a library, and no cache for an address that is a secret. */
    const expected = async (html: string): Promise<Record<string, string>> => {
      const style = /<style>([^]*)<\/style>/.exec(html)?.[1];
      const hash = createHash('sha256')
        .update(style ?? '')
        .digest('base64');
      const policy = (await success({ InvId: 'A', OutSum: '1.00', CurrencyIn: 'RUB' })).headers.get(
        'content-security-policy',
      );
      if (style !== undefined) {
        expect(policy).toBe(
          `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
        );
      }
      return {
        'content-security-policy': policy ?? '',
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cross-origin-opener-policy': 'same-origin',
        'cross-origin-resource-policy': 'same-origin',
        'cache-control': 'no-store',
        'content-type': 'text/html; charset=utf-8',
      };
    };

    test('every page, also one that refuses, is framed by nobody, cached nowhere, and runs nothing', async () => {
      const fields = redirectFields({ InvId: 'H-1', OutSum: '1.00' });
      const answers: [number, Response][] = [
        [200, await success({ InvId: 'A', OutSum: '1.00', CurrencyIn: 'RUB' })],
        [200, await success(fields)], // of an order that is not there
        [403, await success({ ...fields, OutSum: '2.00' })],
        [404, await success(fields, '/us')],
        [404, await page('x')],
        [200, await page(await ticketOf('H-2', 'success'))],
        [200, await page(await ticketOf('H-3', 'fail'))],
        [200, await page(await ticketOf('H-4'))],
        [303, await success(redirectFields({ InvId: 'H-4', OutSum: '100.05' }))],
      ];
      for (const [status, answer] of answers) {
        const headers = await expected(await answer.text());
        const got = Object.fromEntries(Object.keys(headers).map((name) => [name, answer.headers.get(name)]));
        expect([answer.status, got]).toEqual([status, headers]);
      }
    });

    test('answers to the service are taken for no page', async () => {
      const bodies: Record<string, string>[] = [
        {},
        { InvId: '<script>', TrsId: 'x', Status: 'SUCCESS', OutSum: '1.00' },
      ];
      for (const body of bodies) {
        const answer = await postForm(`${url}/postback/payment`, body);
        expect(answer.headers.get('content-type')).not.toContain('html');
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      }
    });
  });

  describe('an unsigned redirect learns nothing', () => {
    test('the answer is the same whether the order exists or not, is paid or not', async () => {
      await ticketOf('K-1', 'success');
      await ticketOf('K-2', 'fail');
      await ticketOf('K-3');
      const stored = async () => (await harness.host.ledger()).callbacks.length;
      const before = await stored();
      const seen = new Set<string>();
      for (const signature of ['', '0'.repeat(32)]) {
        seen.clear();
        for (const InvId of ['K-1', 'K-2', 'K-3', 'K-4']) {
          for (const kind of ['success', 'fail']) {
            const fields = { InvId, OutSum: '100.05', CurrencyIn: 'RUB', custom: 'x', SignatureValue: signature };
            const answer = await postForm(`${url}/redirect/payment/${kind}`, fields);
            const headers = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'etag'); // a hash of the body
            seen.add(JSON.stringify([answer.status, headers, (await answer.text()).replace(InvId, '?')]));
          }
        }
        expect([...seen]).toHaveLength(1);
      }
      expect(await stored()).toBe(before);
    });

    test('nor does one with the digest of another order, another amount or another shop', async () => {
      await ticketOf('K-5', 'success');
      const own = redirectFields({ InvId: 'mine', OutSum: '100.05' });
      for (const fields of [
        { ...own, InvId: 'K-5' },
        { ...redirectFields({ InvId: 'K-5', OutSum: '1.00' }), OutSum: '100.05' },
        redirectFields({ InvId: 'K-5', OutSum: '100.05' }, EU_TOKEN),
      ]) {
        const answer = await success(fields);
        expect([answer.status, answer.headers.get('location')]).toEqual([403, null]);
        expect(await answer.text()).not.toContain('K-5');
      }
    });
  });

  describe('result tickets', () => {
    let paid: string;
    let wrong: string;
    beforeAll(async () => {
      paid = await ticketOf('T-1', 'success');
      wrong = await (await page('A'.repeat(51))).text();
      expect(await (await page(paid)).text()).toContain('Payment received');
    });
    const isRefused = async (ticket: string) => {
      const answer = await page(ticket);
      expect([ticket, answer.status, await answer.text()]).toEqual([ticket, 404, wrong]);
    };

    test('guessed, they are refused, all alike', async () => {
      const bytes = (seed: number) => createHash('sha512').update(`guess ${seed}`).digest().subarray(0, 38);
      for (let seed = 0; seed < 20; seed += 1) await isRefused(bytes(seed).toString('base64url'));
      const { billId, intentId } = await harness.host.payments.createBill({ orderId: 'T-2', amount: '1' });
      for (const known of ['T-1', billId, intentId, '1', '0', 'undefined', 'null', '..%2fsuccess', '%00', '*']) {
        await isRefused(known);
      }
    });

    test('altered in one character, truncated or continued, they are refused', async () => {
      for (let index = 0; index < paid.length; index += 1) {
        const other = paid[index] === 'A' ? 'B' : 'A';
        await isRefused(paid.slice(0, index) + other + paid.slice(index + 1));
      }
      for (const length of [1, 10, 26, 27, 28, 49, 50]) await isRefused(paid.slice(0, length));
      for (const more of ['A', '=', '%3D', '%20', '%00', '%0a', '.html', ';x=1']) await isRefused(paid + more);
      for (const other of [paid.toLowerCase(), paid.toUpperCase(), `%20${paid}`, paid.slice(25) + paid.slice(0, 25)]) {
        await isRefused(other);
      }
    });

    test('with another bill under the MAC of one, they are refused', async () => {
      const other = Buffer.from(await ticketOf('T-3'), 'base64url');
      const bytes = Buffer.from(paid, 'base64url');
      await isRefused(Buffer.concat([other.subarray(0, 16), bytes.subarray(16)]).toString('base64url'));
      const later = Buffer.from(bytes);
      later.writeUInt32BE(later.readUInt32BE(16) + 86_400, 16);
      await isRefused(later.toString('base64url'));
    });

    test("made with another shop's token, or by hand with a guessed one, they are refused", async () => {
      const [bill] = await harness.host.payments.findBills('T-1');
      const expiry = new Date(harness.clock.now().getTime() + HOUR);
      const options = moduleOptions(harness.sandboxUrl);
      const shops = resolveOptions(options, 'test').shops;
      expect((await page(issueTicket(shops.get('main')!, bill!.intentId, expiry))).status).toBe(200);
      await isRefused(issueTicket(shops.get('eu')!, bill!.intentId, expiry));
      const guessing = { ...options.shops.main!, apiToken: 'guessed-token-0123456789' };
      await isRefused(
        issueTicket(resolveOptions({ shops: { main: guessing } }, 'test').shops.get('main')!, bill!.intentId, expiry),
      );
    });

    test('of a bill that is not there, they are refused', async () => {
      const shop = resolveOptions(moduleOptions(harness.sandboxUrl), 'test').shops.get('main')!;
      const expiry = new Date(harness.clock.now().getTime() + HOUR);
      await isRefused(issueTicket(shop, '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d', expiry));
    });

    test('expired after an hour, they are refused', async () => {
      const fresh = await ticketOf('T-4', 'success');
      harness.clock.advance(HOUR - 60_000);
      expect((await page(fresh)).status).toBe(200);
      harness.clock.advance(120_000);
      await isRefused(fresh);
    });

    test('they say nothing of the order, the amount, the shop or the token', () => {
      const inside = Buffer.from(paid, 'base64url').toString('latin1');
      for (const secret of ['T-1', '100.05', 'main', 'token']) expect(inside).not.toContain(secret);
    });
  });

  describe('no redirect leads away', () => {
    const body = new URLSearchParams(redirectFields({ InvId: 'R-1', OutSum: '100.05' })).toString();
    const locationOf = async (
      target: string,
      headers: Readonly<Record<string, string>>,
    ): Promise<string | undefined> => {
      const all = {
        Host: '127.0.0.1',
        Connection: 'close',
        'Content-Type': 'application/x-www-form-urlencoded',
        'Content-Length': String(body.length),
        ...headers,
      };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
      const answer = await sendRaw(url, [`POST ${target} HTTP/1.1`, ...lines, '', body].join('\r\n'));
      const [, location] = /^location: (.*?)\r$/im.exec(answer) ?? [];
      expect([target, headers, answer.slice(0, 12)]).toEqual([target, headers, 'HTTP/1.1 303']);
      expect(answer).not.toContain('evil');
      return location;
    };
    beforeAll(() => ticketOf('R-1', 'success'));

    test.each<Record<string, string>>([
      { Host: 'evil.example' },
      { Host: 'evil.example:80' },
      { 'X-Forwarded-Host': 'evil.example' },
      { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'javascript', 'X-Forwarded-Port': '666' },
      { 'X-Forwarded-Prefix': '//evil.example', 'X-Forwarded-Path': '//evil.example' },
      { Forwarded: 'host=evil.example;proto=https' },
      { 'X-Original-URL': '//evil.example/', 'X-Rewrite-URL': '//evil.example/' },
      { Origin: 'https://evil.example', Referer: 'https://evil.example/success' },
    ])('by the headers %j', async (headers) => {
      expect(await locationOf('/redirect/payment/success', headers)).toMatch(/^result\/[\w-]{51}$/);
      expect(await locationOf('/redirect/payment/fail/main', headers)).toMatch(/^\.\.\/result\/[\w-]{51}$/);
    });

    test.each([
      '/redirect/payment/success?returnUrl=https://evil.example',
      '/redirect/payment/success?next=//evil.example/&redirect=//evil.example&url=//evil.example',
      '/redirect/payment/success?//evil.example/',
      '/redirect/payment/success?x=1/../../../evil.example/',
    ])('by the parameters of %s', async (target) => {
      expect(await locationOf(target, {})).toMatch(/^result\/[\w-]{51}$/);
    });

    test.each(['returnUrl', 'redirect', 'Location', 'success_url', 'custom', 'shop', 'ticket'])(
      'by the field %s',
      async (field) => {
        const fields = { ...redirectFields({ InvId: 'R-1', OutSum: '100.05' }), [field]: 'https://evil.example/' };
        const answer = await success(fields);
        expect([answer.status, answer.headers.get('location')]).toEqual([303, expect.stringMatching(TICKET)]);
      },
    );

    test('by an address that looks like another host', async () => {
      for (const path of [
        '//evil.example/redirect/payment/success',
        '/redirect/payment/success//evil.example',
        '/redirect/payment/success/%2f%2fevil.example',
      ]) {
        const answer = await fetch(url + path, { method: 'POST', body: new URLSearchParams(body), redirect: 'manual' });
        expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 404, null]);
      }
    });
  });
});
