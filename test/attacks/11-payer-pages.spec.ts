import { describe, expect, test } from '@jest/globals';
import { createHash } from 'node:crypto';
import { ADAPTERS } from '../support/adapters.js';
import { postForm, redirectFields } from '../support/http.js';
import { addressesOf, MARKUP, skeletonOf, textOf } from './support/markup.js';
import { usePayerPages } from './support/payer-pages.js';

describe.each(ADAPTERS)("11: the module's own pages, on %s", (adapter) => {
  const pages = usePayerPages(adapter);

  describe('external text never becomes markup', () => {
    test('the InvId of an unsigned redirect never becomes markup on the neutral page', async () => {
      const benign = await (await pages.success({ InvId: 'A-1', OutSum: '1.00', CurrencyIn: 'RUB' })).text();
      for (const InvId of MARKUP) {
        const html = await (await pages.success({ InvId, OutSum: '1.00', CurrencyIn: 'RUB' })).text();
        expect([InvId, skeletonOf(html)]).toEqual([InvId, skeletonOf(benign)]);
        expect(textOf(html)).toContain(`Order ${InvId}`);
      }
    });

    test.each(['success', 'fail', undefined] as const)(
      'the order never becomes markup on the result page (%s)',
      async (outcome) => {
        const show = async (orderId: string) => (await pages.result(await pages.ticketOf(orderId, outcome))).text();
        const benign = await show(`A-${outcome ?? 'open'}`);
        for (const markup of MARKUP.slice(0, 9)) {
          const html = await show(`${markup} ${outcome ?? 'open'}`);
          expect([markup, skeletonOf(html)]).toEqual([markup, skeletonOf(benign)]);
          expect(textOf(html)).toContain(markup);
        }
      },
    );

    test('a refused redirect, an unknown shop and a wrong ticket show none of their text', async () => {
      for (const markup of MARKUP) {
        const path = encodeURIComponent(markup);
        const answers = [
          await pages.success({ ...redirectFields({ InvId: markup, OutSum: '1.00' }), OutSum: '2.00', custom: markup }),
          await pages.success(redirectFields({ InvId: markup, OutSum: '1.00' }), `/${path}`),
          await pages.result(path),
        ];
        expect([markup, answers.map(({ status }) => status)]).toEqual([markup, [403, 404, 404]]);
        for (const answer of answers) expect(await answer.text()).not.toContain(markup.slice(0, 12));
      }
    });

    test.each(['custom', 'name', 'description', 'CurrencyIn', 'OutSum', 'Status', 'SignatureValue'])(
      'the %s of a redirect is shown on no page',
      async (field) => {
        for (const signed of [{}, redirectFields({ InvId: 'A-9', OutSum: '1.00' })]) {
          const fields = { InvId: 'A-9', OutSum: '1.00', CurrencyIn: 'RUB', ...signed, [field]: '<b>injected</b>' };
          const answer = await pages.success(fields);
          expect([200, 400, 403]).toContain(answer.status);
          expect(await answer.text()).not.toContain('injected');
        }
      },
    );

    test('no page has a link, an external resource, a script, an event handler or a style attribute', async () => {
      const paid = await pages.ticketOf('B-1', 'success');
      const answers = [
        await pages.success({ InvId: 'A', OutSum: '1.00', CurrencyIn: 'RUB' }),
        await pages.result(paid),
        await pages.result('x'),
      ];
      for (const answer of answers) {
        const html = await answer.text();
        expect(addressesOf(html)).toEqual(['width=device-width,initial-scale=1']);
        expect(skeletonOf(html).join('\n')).not.toMatch(/script|svg|form|iframe|base|link| on\w+| style/);
      }
    });
  });

  describe('headers', () => {
    /** Helmet's defaults, as far as they make sense for a library's page, and no caching, because the address is secret. */
    const expected = async (html: string): Promise<Record<string, string>> => {
      const style = /<style>([^]*)<\/style>/.exec(html)?.[1];
      const hash = createHash('sha256')
        .update(style ?? '')
        .digest('base64');
      const policy = (await pages.success({ InvId: 'A', OutSum: '1.00', CurrencyIn: 'RUB' })).headers.get(
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

    test('no page, not even an error page, can be framed or cached, or runs anything', async () => {
      const fields = redirectFields({ InvId: 'H-1', OutSum: '1.00' });
      const answers: [number, Response][] = [
        [200, await pages.success({ InvId: 'A', OutSum: '1.00', CurrencyIn: 'RUB' })],
        [200, await pages.success(fields)], // of an unknown order
        [403, await pages.success({ ...fields, OutSum: '2.00' })],
        [404, await pages.success(fields, '/us')],
        [404, await pages.result('x')],
        [200, await pages.result(await pages.ticketOf('H-2', 'success'))],
        [200, await pages.result(await pages.ticketOf('H-3', 'fail'))],
        [200, await pages.result(await pages.ticketOf('H-4'))],
        [303, await pages.success(redirectFields({ InvId: 'H-4', OutSum: '100.05' }))],
      ];
      for (const [status, answer] of answers) {
        const headers = await expected(await answer.text());
        const got = Object.fromEntries(Object.keys(headers).map((name) => [name, answer.headers.get(name)]));
        expect([answer.status, got]).toEqual([status, headers]);
      }
    });

    test('answers to a postback cannot be taken for a page', async () => {
      const bodies: Record<string, string>[] = [
        {},
        { InvId: '<script>', TrsId: 'x', Status: 'SUCCESS', OutSum: '1.00' },
      ];
      for (const body of bodies) {
        const answer = await postForm(`${pages.url}/postback/payment`, body);
        expect(answer.headers.get('content-type')).not.toContain('html');
        expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      }
    });
  });
});
