import { beforeAll, describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { issueTicket } from '../../libs/payment-acceptance/src/callbacks/result-ticket.js';
import { resolveOptions } from '../../libs/payment-acceptance/src/config/resolve-options.js';
import { ADAPTERS } from '../support/adapters.js';
import { EU_TOKEN, moduleOptions } from '../support/harness.js';
import { postForm, redirectFields } from '../support/http.js';
import { RESULT_PAGE, usePayerPages } from './support/payer-pages.js';
import { sendRaw } from './support/sending.js';

const HOUR = 3_600_000;

describe.each(ADAPTERS)('11: redirects and result tickets, on %s', (adapter) => {
  const pages = usePayerPages(adapter);

  describe('an unsigned redirect reveals nothing', () => {
    test('an unsigned redirect gets the same answer whether or not the order exists or is paid', async () => {
      await pages.ticketOf('K-1', 'success');
      await pages.ticketOf('K-2', 'fail');
      await pages.ticketOf('K-3');
      const stored = async () => (await pages.harness.host.ledger()).callbacks.length;
      const before = await stored();
      const seen = new Set<string>();
      for (const signature of ['', '0'.repeat(32)]) {
        seen.clear();
        for (const InvId of ['K-1', 'K-2', 'K-3', 'K-4']) {
          for (const kind of ['success', 'fail']) {
            const fields = { InvId, OutSum: '100.05', CurrencyIn: 'RUB', custom: 'x', SignatureValue: signature };
            const answer = await postForm(`${pages.url}/redirect/payment/${kind}`, fields);
            const headers = [...answer.headers].filter(([name]) => name !== 'date' && name !== 'etag'); // a hash of the body
            seen.add(JSON.stringify([answer.status, headers, (await answer.text()).replace(InvId, '?')]));
          }
        }
        expect([...seen]).toHaveLength(1);
      }
      expect(await stored()).toBe(before);
    });

    test('a redirect with the digest of another order, amount or shop reveals nothing', async () => {
      await pages.ticketOf('K-5', 'success');
      const own = redirectFields({ InvId: 'mine', OutSum: '100.05' });
      for (const fields of [
        { ...own, InvId: 'K-5' },
        { ...redirectFields({ InvId: 'K-5', OutSum: '1.00' }), OutSum: '100.05' },
        redirectFields({ InvId: 'K-5', OutSum: '100.05' }, EU_TOKEN),
      ]) {
        const answer = await pages.success(fields);
        expect([answer.status, answer.headers.get('location')]).toEqual([403, null]);
        expect(await answer.text()).not.toContain('K-5');
      }
    });
  });

  describe('result tickets', () => {
    let paid: string;
    let wrong: string;
    beforeAll(async () => {
      paid = await pages.ticketOf('T-1', 'success');
      wrong = await (await pages.result('A'.repeat(51))).text();
      expect(await (await pages.result(paid)).text()).toContain('Payment received');
    });
    const isRefused = async (ticket: string) => {
      const answer = await pages.result(ticket);
      expect([ticket, answer.status, await answer.text()]).toEqual([ticket, 404, wrong]);
    };

    test('guessed result tickets are all refused alike', async () => {
      const bytes = (seed: number) => createHash('sha512').update(`guess ${seed}`).digest().subarray(0, 38);
      for (let seed = 0; seed < 20; seed += 1) await isRefused(bytes(seed).toString('base64url'));
      const { billId, intentId } = await pages.harness.host.payments.createBill({ orderId: 'T-2', amount: '1' });
      for (const known of ['T-1', billId, intentId, '1', '0', 'undefined', 'null', '..%2fsuccess', '%00', '*']) {
        await isRefused(known);
      }
    });

    test('a result ticket that is altered in one character, truncated or extended is refused', async () => {
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

    test('a result ticket with another bill or expiry under the same MAC is refused', async () => {
      const other = Buffer.from(await pages.ticketOf('T-3'), 'base64url');
      const bytes = Buffer.from(paid, 'base64url');
      await isRefused(Buffer.concat([other.subarray(0, 16), bytes.subarray(16)]).toString('base64url'));
      const later = Buffer.from(bytes);
      later.writeUInt32BE(later.readUInt32BE(16) + 86_400, 16);
      await isRefused(later.toString('base64url'));
    });

    test('a result ticket made with the token of another shop, or with a guessed one, is refused', async () => {
      const [bill] = await pages.harness.host.payments.findBills('T-1');
      const expiry = new Date(pages.harness.clock.now().getTime() + HOUR);
      const options = moduleOptions(pages.harness.sandboxUrl);
      const shops = resolveOptions(options, 'test').shops;
      expect((await pages.result(issueTicket(shops.get('main')!, bill!.intentId, expiry))).status).toBe(200);
      await isRefused(issueTicket(shops.get('eu')!, bill!.intentId, expiry));
      const guessing = { ...options.shops.main!, apiToken: 'guessed-token-0123456789' };
      await isRefused(
        issueTicket(resolveOptions({ shops: { main: guessing } }, 'test').shops.get('main')!, bill!.intentId, expiry),
      );
    });

    test('a result ticket for an unknown bill is refused', async () => {
      const shop = resolveOptions(moduleOptions(pages.harness.sandboxUrl), 'test').shops.get('main')!;
      const expiry = new Date(pages.harness.clock.now().getTime() + HOUR);
      await isRefused(issueTicket(shop, '9b1deb4d-3b7d-4bad-9bdd-2b0d7b3dcb6d', expiry));
    });

    test('a result ticket expires after an hour', async () => {
      const fresh = await pages.ticketOf('T-4', 'success');
      pages.harness.clock.advance(HOUR - 60_000);
      expect((await pages.result(fresh)).status).toBe(200);
      pages.harness.clock.advance(120_000);
      await isRefused(fresh);
    });

    test('a result ticket does not contain the order, the amount, the shop or the token', () => {
      const inside = Buffer.from(paid, 'base64url').toString('latin1');
      for (const secret of ['T-1', '100.05', 'main', 'token']) expect(inside).not.toContain(secret);
    });
  });

  describe('no redirect leads to another host', () => {
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
      const answer = await sendRaw(pages.url, [`POST ${target} HTTP/1.1`, ...lines, '', body].join('\r\n'));
      const [, location] = /^location: (.*?)\r$/im.exec(answer) ?? [];
      expect([target, headers, answer.slice(0, 12)]).toEqual([target, headers, 'HTTP/1.1 303']);
      expect(answer).not.toContain('evil');
      return location;
    };
    beforeAll(() => pages.ticketOf('R-1', 'success'));

    test.each<Record<string, string>>([
      { Host: 'evil.example' },
      { Host: 'evil.example:80' },
      { 'X-Forwarded-Host': 'evil.example' },
      { 'X-Forwarded-Host': 'evil.example', 'X-Forwarded-Proto': 'javascript', 'X-Forwarded-Port': '666' },
      { 'X-Forwarded-Prefix': '//evil.example', 'X-Forwarded-Path': '//evil.example' },
      { Forwarded: 'host=evil.example;proto=https' },
      { 'X-Original-URL': '//evil.example/', 'X-Rewrite-URL': '//evil.example/' },
      { Origin: 'https://evil.example', Referer: 'https://evil.example/success' },
    ])('no redirect leads to another host by the headers %j', async (headers) => {
      expect(await locationOf('/redirect/payment/success', headers)).toMatch(/^result\/[\w-]{51}$/);
      expect(await locationOf('/redirect/payment/fail/main', headers)).toMatch(/^\.\.\/result\/[\w-]{51}$/);
    });

    test.each([
      '/redirect/payment/success?returnUrl=https://evil.example',
      '/redirect/payment/success?next=//evil.example/&redirect=//evil.example&url=//evil.example',
      '/redirect/payment/success?//evil.example/',
      '/redirect/payment/success?x=1/../../../evil.example/',
    ])('no redirect leads to another host by the parameters of %s', async (target) => {
      expect(await locationOf(target, {})).toMatch(/^result\/[\w-]{51}$/);
    });

    test.each(['returnUrl', 'redirect', 'Location', 'success_url', 'custom', 'shop', 'ticket'])(
      'no redirect leads to another host by the field %s',
      async (field) => {
        const fields = { ...redirectFields({ InvId: 'R-1', OutSum: '100.05' }), [field]: 'https://evil.example/' };
        const answer = await pages.success(fields);
        expect([answer.status, answer.headers.get('location')]).toEqual([303, expect.stringMatching(RESULT_PAGE)]);
      },
    );

    test('no redirect leads to another host by its path', async () => {
      for (const path of [
        '//evil.example/redirect/payment/success',
        '/redirect/payment/success//evil.example',
        '/redirect/payment/success/%2f%2fevil.example',
      ]) {
        const answer = await fetch(pages.url + path, {
          method: 'POST',
          body: new URLSearchParams(body),
          redirect: 'manual',
        });
        expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 404, null]);
      }
    });
  });
});
