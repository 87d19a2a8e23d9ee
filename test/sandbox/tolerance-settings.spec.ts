import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { ShopSettings } from 'nestjs-payment-sandbox';
import { Fixture } from './fixture.js';

/** What some clients in the field send, which the service itself refuses or ignores. */
describe('optional tolerance of the sandbox', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open();
  });
  afterAll(() => fixture.close());

  const create = (init: RequestInit) => fixture.call('/api/v1/bill/create', { method: 'POST', ...init });
  const made = async (init: RequestInit) => {
    const { status, json } = await create(init);
    expect(status).toBe(200);
    return fixture.sandbox.bill(json['bill_id'] as string);
  };
  const json = (text: string): RequestInit => ({ body: text, headers: { 'content-type': 'application/json' } });

  const set = (settings: Partial<ShopSettings>) => fixture.sandbox.putShop('main', settings);
  afterEach(() => set({ billAddresses: false, roundAmounts: false, creationSuccess: 'text' }));
  const addresses = {
    success_url: 'https://shop.test/s?o=1',
    fail_url: 'https://shop.test/f',
    return_url: 'https://shop.test/r',
  };
  const redirects = async (fields: Record<string, string>) => {
    const { id } = await made({ body: new URLSearchParams({ amount: '5', ...fields }) });
    const urls = [];
    for (const outcome of ['fail', 'success'] as const) {
      urls.push((await fixture.sandbox.pay(id, { outcome })).redirect?.url);
    }
    return urls;
  };

  test("with billAddresses the redirects go to the bill's own addresses", async () => {
    const { url } = fixture.shopServer;
    expect(await redirects(addresses)).toEqual([`${url}/fail`, `${url}/success`]);
    await set({ billAddresses: true });
    expect(await redirects(addresses)).toEqual(['https://shop.test/f', 'https://shop.test/s?o=1']);
    expect(await redirects({ fail_url: 'https://shop.test/f' })).toEqual(['https://shop.test/f', `${url}/success`]);
    expect(await redirects({ success_url: '' })).toEqual([`${url}/fail`, `${url}/success`]);
  });

  test("with billAddresses the payment page links back to the bill's return_url", async () => {
    await set({ billAddresses: true });
    const { id } = await made({ body: new URLSearchParams({ amount: '5', ...addresses }) });
    for (const page of ['link', 'transfer']) {
      expect((await fixture.call(`/${page}/${id}`)).text).toContain('href="https://shop.test/r"');
    }
  });

  test.each(['javascript:alert(1)', '/relative', 'ftp://x'])(
    'with billAddresses an invalid address such as %s is refused',
    async (text) => {
      await set({ billAddresses: true });
      const { status, json: body } = await create({ body: new URLSearchParams({ amount: '5', return_url: text }) });
      expect([status, body['errors']]).toEqual([400, { return_url: [expect.stringContaining('valid URL')] }]);
    },
  );

  test.each([
    ['0.30000000000000004', '0.30'],
    ['100.005', '100.01'],
    ['100.00499999999999', '100.00'],
    ['1.005e2', '100.50'],
    ['5', '5.00'],
  ])(
    'with roundAmounts the floating-point amount %s is rounded, as text and as a JSON number',
    async (sent, amount) => {
      await set({ roundAmounts: true });
      expect((await made({ body: new URLSearchParams({ amount: sent }) })).amount).toBe(amount);
      expect((await made(json(`{"amount":${sent}}`))).amount).toBe(amount);
    },
  );

  test.each(['0.004', '-0.001', '-5', 'x', '99999999.995'])(
    'with roundAmounts the amount %s is still refused',
    async (amount) => {
      await set({ roundAmounts: true });
      expect((await create({ body: new URLSearchParams({ amount }) })).status).toBe(400);
    },
  );

  test('with creationSuccess "boolean" the success is a JSON boolean', async () => {
    await set({ creationSuccess: 'boolean' });
    const { json: body } = await create({ body: new URLSearchParams({ amount: '5' }) });
    expect(body['success']).toBe(true);
  });
});
