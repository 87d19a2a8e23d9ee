import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { ADAPTERS } from '../support/adapters.js';
import { startAttackedShop, type AttackedShop } from '../attacks/support/attacked-shop.js';
import { startShops } from '../support/shop.js';
import { until } from '../support/until.js';

interface Told {
  version: string;
  html: string;
  final: boolean;
}

/** What a stream of server-sent events tells, as it comes. */
async function* listen(answer: Response): AsyncGenerator<Told> {
  let text = '';
  for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString('utf8');
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = /^data: (.*)$/m.exec(text.slice(0, end))?.[1];
      text = text.slice(end + 2);
      if (data !== undefined) yield JSON.parse(data) as Told;
    }
  }
}

describe.each(ADAPTERS)('the pages of the sample shop on %s', (adapter) => {
  let shop: AttackedShop;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
  });
  afterAll(() => shop.close());

  const live = (id: string, signal?: AbortSignal): Promise<Response> =>
    fetch(`${shop.url}/orders/${id}/live`, { headers: { accept: 'text/event-stream' }, ...(signal && { signal }) });

  test("an order's stream sends its state at once and each change, and ends once it is paid", async () => {
    const { id, billId } = await shop.buy({ description: '<b>"\'&' });
    const answer = await live(id);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    const told = listen(answer);
    expect((await told.next()).value).toMatchObject({ version: 'pending 0 ', final: false });
    await shop.pay(billId, { outcome: 'fail' });
    await shop.settle();
    const failed = (await told.next()).value as Told;
    expect(failed).toMatchObject({ version: 'not_paid 1 ', final: false });
    expect(failed.html).toContain('Pay again');
    await shop.pay(billId, { outcome: 'success' });
    await shop.elapse(3_000);
    expect((await told.next()).value).toMatchObject({ version: 'paid 2 ', final: true });
    expect(await told.next()).toMatchObject({ done: true });
  });

  test('the stream of an unknown order is a 404, and that of an invalid id a 400', async () => {
    expect((await live('00000000-0000-4000-8000-000000000000')).status).toBe(404);
    expect((await live('x')).status).toBe(400);
  });

  test('at most two hundred clients may watch an order, and one that leaves makes room', async () => {
    const { id } = await shop.buy();
    const leave = new AbortController();
    const watching = await Promise.all(Array.from({ length: 200 }, () => live(id, leave.signal)));
    expect(new Set(watching.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await live(id)).status).toBe(503);
    leave.abort();
    const again = await until(
      () => live(id),
      ({ status }) => status === 200,
    );
    await again.body?.cancel();
  });

  test('every page has a strict policy, and style and scripts come from addresses of their own', async () => {
    const { id } = await shop.buy();
    for (const path of ['/', '/?shop=eu', '/orders', `/orders/${id}`, '/orders/x', '/none']) {
      const answer = await fetch(`${shop.url}${path}`, { headers: { accept: 'text/html' } });
      const text = await answer.text();
      expect(text).toMatch(/^<!doctype html>/);
      expect(text).not.toMatch(/ on\w+=| style=|<script>|<style>/);
      const policy = answer.headers.get('content-security-policy');
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain('unsafe');
      for (const [, address] of text.matchAll(/(?:href|src)="(\/assets\/[^"]+)"/g)) {
        const asset = await fetch(`${shop.url}${address!}`);
        expect([asset.status, asset.headers.get('cache-control')]).toEqual([200, expect.stringContaining('immutable')]);
        await asset.body?.cancel();
      }
    }
    expect((await fetch(`${shop.url}/assets/none.js`)).status).toBe(404);
  });
});

test('a stream that is open does not keep the shop from stopping', async () => {
  const shop = await startShops(1);
  try {
    const { id } = await shop.buy({ amount: '1.00' });
    const told = listen(await fetch(`${shop.urls[0]!}/orders/${id}/live`));
    await told.next();
    const [process] = shop.processes;
    const exit = once(process!, 'exit');
    process!.kill('SIGTERM');
    expect(await told.next()).toMatchObject({ done: true });
    await exit;
  } finally {
    await shop.close();
  }
});
