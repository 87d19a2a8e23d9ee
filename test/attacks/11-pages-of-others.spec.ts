import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { postForm } from '../support/http.js';
import { ONE_ADAPTER } from '../support/adapters.js';
import { startAttackedShop, TOKENS, type AttackedShop } from './support/attacked-shop.js';
import { addressesOf, MARKUP, skeletonOf, tagsOf, textOf } from './support/markup.js';

const CARD = { card: '4000 0000 0000 0002', expiry: '12/40', cvc: '123' };

/** The page cannot be framed, runs no inline script, and its content type is not guessed. */
function expectStrict({ headers }: Response, html: string): void {
  const policy = headers.get('content-security-policy') ?? '';
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]) {
    expect(policy).toContain(rule);
  }
  expect(policy).not.toMatch(/unsafe|data:|\*/);
  expect(headers.get('x-frame-options')).toBe('DENY');
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  const tags = tagsOf(html);
  const active = tags.flatMap(({ attributes }) => Object.keys(attributes)).filter((name) => /^on|^style$|^srcdoc$/.test(name)); // prettier-ignore
  expect(active).toEqual([]);
  const scripts = tags.flatMap(({ name, attributes }) => (name === 'script' ? [attributes.src ?? ''] : []));
  expect(scripts.filter((src) => !/^\/[\w./-]+(\?\w+)?$/.test(src))).toEqual([]);
  expect(html).not.toMatch(/<script[^>]*>[^<]/);
}

/** All addresses are on the site itself or on one of these. */
function expectAddresses(html: string, ...allowed: string[]): void {
  const site = 'http://this.site.example';
  const elsewhere = addressesOf(html).filter((address) => ![site, ...allowed].includes(new URL(address, site).origin));
  expect(elsewhere).toEqual([]);
}

describe.each(ONE_ADAPTER)("11: the sample shop's pages, on %s", (adapter) => {
  let shop: AttackedShop;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
  });
  afterAll(() => shop.close());

  const show = async (path: string, init?: RequestInit): Promise<string> => {
    const answer = await fetch(shop.url + path, { redirect: 'manual', ...init });
    const html = await answer.text();
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expectStrict(answer, html);
    expectAddresses(html);
    return html;
  };

  test.each(['pending', 'paid', 'not_paid'])('the description of a %s order never becomes markup', async (status) => {
    const pages = async (description: string) => {
      const { id, billId } = await shop.buy({ description });
      if (status !== 'pending') await shop.pay(billId, { outcome: status === 'paid' ? 'success' : 'fail' });
      await shop.settle();
      return { order: await show(`/orders/${id}`), list: await show('/orders') };
    };
    const benign = await pages('Tea');
    for (const markup of MARKUP.slice(0, status === 'pending' ? 9 : 3)) {
      const { order, list } = await pages(markup);
      expect([markup, skeletonOf(order)]).toEqual([markup, skeletonOf(benign.order)]);
      expect(textOf(order)).toContain(markup);
      expect(textOf(list)).toContain(markup);
      expect(new Set(skeletonOf(list))).toEqual(new Set([...skeletonOf(list), ...skeletonOf(benign.list)]));
    }
  });

  test('the result page shows stored state, whatever the redirect and its parameters say', async () => {
    const { id, billId } = await shop.buy();
    const { url, fields } = await shop.paySilently(billId);
    for (const markup of MARKUP) {
      const query = `?result=${encodeURIComponent(markup)}&InvId=${encodeURIComponent(markup)}`;
      const answer = await postForm(url + query, { ...fields, custom: markup, name: markup, description: markup });
      expect(answer.status).toBe(303);
      const html = await show(new URL(answer.headers.get('location') ?? '', url).pathname + query);
      expect(html).not.toContain(markup.slice(0, 12));
      expect(textOf(html)).toContain(id);
      expect(addressesOf(html)).toContain(`/orders/${id}`);
    }
  });

  test('error pages show nothing of what was sent, or show it as text', async () => {
    for (const markup of MARKUP) {
      const path = encodeURIComponent(markup);
      const pages = [
        await show(`/orders/${path}`),
        await show(`/${path}`),
        await show('/buy', { method: 'POST', body: new URLSearchParams({ product: markup, shop: markup }) }),
        await show(`/?shop=${path}`),
        await show('/buy', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: markup,
        }),
      ];
      for (const html of pages)
        expect(html).not.toMatch(/<script>|<svg onload|<img|<iframe| on(mouseover|focus|error)=/);
    }
  });

  test("the payer is redirected to the bill's page, and never to an address from a header", async () => {
    const { id, payUrl } = await shop.buy();
    const forged: Record<string, string>[] = [
      { 'x-forwarded-host': 'evil.example' },
      { 'x-forwarded-proto': 'javascript', referer: '//evil.example' },
    ];
    for (const headers of forged) {
      const answer = await fetch(`${shop.url}/orders/${id}/pay?returnUrl=//evil.example`, {
        method: 'POST',
        headers,
        redirect: 'manual',
      });
      expect([answer.status, answer.headers.get('location')]).toEqual([303, payUrl]);
    }
  });
});

describe("11: the sandbox's pay pages", () => {
  let shop: AttackedShop;
  beforeAll(async () => {
    shop = await startAttackedShop('express');
  });
  afterAll(() => shop.close());

  async function billOf(fields: Record<string, string>): Promise<string> {
    const answer = await fetch(`${shop.sandboxUrl}/api/v1/bill/create`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKENS.main}` },
      body: new URLSearchParams({ amount: '10', shop_id: 'demo-main', currency_in: 'RUB', ...fields }),
    });
    return ((await answer.json()) as { bill_id: string }).bill_id;
  }
  async function show(path: string, form?: Record<string, string>): Promise<string> {
    const answer = form ? await postForm(shop.sandboxUrl + path, form) : await fetch(shop.sandboxUrl + path);
    if (answer.status === 303) {
      const location = answer.headers.get('location') ?? '';
      expect(location).toMatch(/^\/transfer\/[\w-]+\/payments\/[\w-]+$/);
      return show(location);
    }
    const html = await answer.text();
    expectStrict(answer, html);
    expectAddresses(html, shop.url);
    return html;
  }
  /** All pages of a bill: link, form, form with mistakes, failed with the link back, paid. */
  async function pagesOf(fields: Record<string, string>): Promise<string[]> {
    const id = await billOf(fields);
    const pages = [
      await show(`/link/${id}`),
      await show(`/transfer/${id}`),
      await show(`/transfer/${id}`, { card: '1', expiry: '13', cvc: '' }),
      await show(`/transfer/${id}`, CARD),
    ];
    await shop.sandbox.pay(id);
    return [...pages, await show(`/transfer/${id}`)];
  }

  test.each(['order_id', 'description', 'name', 'custom'])(
    'the %s of a bill never becomes markup on the pay pages',
    async (field) => {
      const others = { order_id: 'A-1', name: 'Tea', description: 'Green tea', custom: 'cart' };
      const benign = await pagesOf({ ...others, [field]: 'harmless' });
      for (const markup of MARKUP) {
        const pages = await pagesOf({ ...others, [field]: markup });
        expect([markup, pages.map(skeletonOf)]).toEqual([markup, benign.map(skeletonOf)]);
        const [link, , , failed] = pages;
        if (field !== 'custom') expect(textOf(link ?? '')).toContain(markup);
        if (field === 'custom' || field === 'order_id') {
          const sent = tagsOf(failed ?? '').map(({ attributes: { value } }) => value);
          expect(sent).toContain(markup);
        }
      }
    },
  );

  test.each(['card', 'expiry', 'cvc'])('%s that the payer types never becomes markup', async (field) => {
    const id = await billOf({ order_id: 'A-2' });
    const benign = await show(`/transfer/${id}`, { card: '', expiry: '', cvc: '', [field]: 'x' });
    for (const markup of MARKUP) {
      const html = await show(`/transfer/${id}`, { card: '', expiry: '', cvc: '', [field]: markup });
      expect([markup, skeletonOf(html)]).toEqual([markup, skeletonOf(benign)]);
    }
  });

  test('a page for an unknown bill, payment or test card shows nothing of its address', async () => {
    const id = await billOf({ order_id: 'A-3' });
    for (const markup of MARKUP) {
      const path = encodeURIComponent(markup);
      const pages = [
        await show(`/link/${path}`),
        await show(`/transfer/${path}`),
        await show(`/transfer/${id}/payments/${path}`),
        await show(`/transfer/${id}?card=${path}`),
      ];
      for (const html of pages) expect(html).not.toContain(markup.slice(0, 12));
    }
  });

  test("the link back leads to the shop's address, which must be http or https", async () => {
    for (const successUrl of ['javascript:alert(1)', 'data:text/html,x', '//evil.example', 'ftp://evil.example']) {
      await expect(shop.sandbox.putShop('demo-main', { successUrl })).rejects.toThrow(/http or https/);
    }
    const id = await billOf({ order_id: 'A-4', success_url: 'https://evil.example', return_url: '//evil.example' });
    const html = await show(`/transfer/${id}`, { ...CARD, card: '4111 1111 1111 1111' });
    expect(tagsOf(html).find(({ name }) => name === 'form')?.attributes.action).toBe(
      `${shop.url}/redirect/payment/success`,
    );
  });
});
