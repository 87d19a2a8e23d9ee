import { afterEach, describe, expect, test } from '@jest/globals';
import { HttpAdapterHost } from '@nestjs/core';
import { PaymentAcceptanceService } from 'nestjs-payment-acceptance';
import { setTimeout as sleep } from 'node:timers/promises';
import { SETTINGS, startHost, type Host, type Platform } from './host.js';

const PLATFORMS: Platform[] = ['express', 'fastify'];

let host: Host | undefined;
afterEach(() => host?.close());

async function paid(orders: Host['orders'], id: string): Promise<void> {
  for (const end = Date.now() + 20_000; (await orders.statusOf(id)) !== 'paid'; await sleep(25)) {
    if (Date.now() > end) throw new Error('The order was not paid within 20 s.');
  }
}

describe.each(PLATFORMS)('%s', (platform) => {
  test.each(Object.keys(SETTINGS))(
    'a payment with %s settles, and its payer returns to the result page',
    async (name) => {
      host = await startHost(platform, SETTINGS[name] ?? {});
      const { orders, sandbox, url } = host;
      const { billId, orderId } = await orders.order('100.05');
      const { redirect } = await sandbox.pay(billId);
      if (!redirect) throw new Error('The sandbox does not redirect the payer.');
      await paid(orders, orderId);
      await sandbox.settled();
      expect(sandbox.bill(billId).callbacks).toMatchObject([{ tries: [{ status: 200 }] }]);

      const body = new URLSearchParams(Object.entries(redirect.fields));
      const returned = await fetch(redirect.url, { method: 'POST', body, redirect: 'manual' });
      expect(returned.status).toBe(303);
      const page = await fetch(new URL(returned.headers.get('location') ?? '', redirect.url));
      expect([page.status, page.url.startsWith(`${url}/redirect/payment/result/`)]).toEqual([200, true]);
      expect(await page.text()).toContain(orderId);
    },
  );

  test('a payment in a second shop settles', async () => {
    host = await startHost(platform, {});
    const { billId, orderId, currency } = await host.orders.order('7.10', 'EUR');
    expect(currency).toBe('EUR');
    await host.sandbox.pay(billId);
    await paid(host.orders, orderId);
  });

  test("TypeORM's synchronize does not touch the payment tables", async () => {
    host = await startHost(platform, {});
    const { orderId, billId } = await host.orders.order('100.05');
    await host.close();
    host = await startHost(platform, {});
    const [bill] = await host.app.get(PaymentAcceptanceService).findBills(orderId);
    expect(bill).toMatchObject({ billId, state: 'OPEN', amount: '100.05' });
  });

  test("with bodyParser: false a payer's redirect is answered as documented for the platform", async () => {
    host = await startHost(platform, { bodyParser: false });
    const { billId } = await host.orders.order('100.05');
    const { redirect } = await host.sandbox.pay(billId);
    const body = new URLSearchParams(Object.entries(redirect?.fields ?? {}));
    const returned = await fetch(redirect?.url ?? '', { method: 'POST', body, redirect: 'manual' });
    // The oldest Nest 11 does not tell a module of a test when there is an adapter, and Fastify refuses before the route.
    const isRefused = platform === 'fastify' && !('init$' in HttpAdapterHost.prototype);
    expect(returned.status).toBe(isRefused ? 415 : 303);
  });
});
