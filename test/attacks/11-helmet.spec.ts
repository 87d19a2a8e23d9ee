import { afterEach, describe, expect, test } from '@jest/globals';
import fastifyHelmet from '@fastify/helmet';
import type { INestApplication } from '@nestjs/common';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import helmet from 'helmet';
import { MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { postForm, redirectFields } from '../support/http.js';
import { ADAPTERS } from '../support/adapters.js';

describe.each(ADAPTERS)('11: a host with Helmet, on %s', (adapter) => {
  let harness: Harness | undefined;
  afterEach(() => harness?.close());

  const withHelmet = (app: INestApplication): void => {
    if (adapter === 'express') app.use(helmet());
    else void (app.getHttpAdapter() as unknown as FastifyAdapter).register(fastifyHelmet as never);
  };
  async function payerReturns(orderId: string): Promise<{ redirect: Response; page: Response }> {
    const { billId } = await harness!.host.payments.createBill({ orderId, amount: '10' });
    await harness!.sandbox.pay(billId);
    await harness!.settle();
    const fields = redirectFields({ InvId: orderId, OutSum: '10.00' }, MAIN_TOKEN);
    const redirect = await postForm(`${harness!.host.url}/redirect/payment/success`, fields);
    const page = await fetch(new URL(redirect.headers.get('location') ?? '', redirect.url), { redirect: 'manual' });
    return { redirect, page };
  }

  test("a host with Helmet takes payments, and our page keeps its stricter policy beside Helmet's other headers", async () => {
    harness = await startHarness({ adapter, prepare: withHelmet });
    const { redirect, page } = await payerReturns('A-1');
    expect([redirect.status, page.status]).toEqual([303, 200]);
    expect(await page.text()).toContain('Payment received');
    expect((await harness.host.ledger()).callbacks).toMatchObject([{ kind: 'redirect-success' }, { kind: 'postback' }]);
    const headers = Object.fromEntries(page.headers);
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; style-src 'sha256-[^;]*'; base-uri 'none'; /,
    );
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'strict-transport-security': expect.stringContaining('max-age='),
      'origin-agent-cluster': '?1',
    });
  });

  test("a page that the host renders has the host's policy, and cannot be framed", async () => {
    harness = await startHarness({
      adapter,
      prepare: withHelmet,
      options: { resultPage: ({ result }) => `<p>${result}</p>` },
    });
    const { page } = await payerReturns('A-2');
    expect([page.status, await page.text()]).toEqual([200, '<p>paid</p>']);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect([page.headers.get('x-frame-options'), page.headers.get('cache-control')]).toEqual(['DENY', 'no-store']);
  });

  test('a host that redirects the payer from the result page decides alone where to', async () => {
    harness = await startHarness({
      adapter,
      prepare: withHelmet,
      options: { resultPage: ({ orderId }) => ({ redirectTo: `/orders/${encodeURIComponent(orderId)}` }) },
    });
    for (const orderId of ['A-3', '//evil.example/', 'a\tb ?#&']) {
      const { page } = await payerReturns(orderId);
      expect([page.status, page.headers.get('location')]).toEqual([303, `/orders/${encodeURIComponent(orderId)}`]);
    }
  });

  test('a payer whose page the host never renders is asked to try again', async () => {
    const never = () => new Promise<string>(() => undefined);
    harness = await startHarness({ adapter, options: { resultPage: never, callbacks: { storeTimeoutMs: 1_000 } } });
    const { page } = await payerReturns('A-5');
    expect([page.status, await page.text()]).toEqual([503, expect.stringContaining('Please try again')]);
  });

  test('a host can redirect the payer to an address with letters of any script', async () => {
    const redirectTo = 'https://магазин.рф/заказ/1?a=%20';
    harness = await startHarness({ adapter, options: { resultPage: () => ({ redirectTo }) } });
    const { page } = await payerReturns('A-4');
    expect([page.status, decodeURI(page.headers.get('location') ?? '')]).toEqual([303, decodeURI(redirectTo)]);
  });
});
