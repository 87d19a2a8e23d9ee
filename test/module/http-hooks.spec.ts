import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import type { ServiceHttpHooks, ServiceRequestInfo, ServiceResponseInfo } from 'nestjs-payment-acceptance';
import { MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';

const CARD = '4111 1111 1111 1111';
const NEXT_TOKEN = 'the-next-token-0123456789';

let harness: Harness;
let before: ServiceRequestInfo[];
let after: ServiceResponseInfo[];

async function start(hooks?: ServiceHttpHooks): Promise<Harness> {
  before = [];
  after = [];
  const recording: ServiceHttpHooks = {
    beforeRequest: (info) => before.push(info),
    afterResponse: (info) => after.push(info),
  };
  harness = await startHarness({
    providers: [EffectWriter],
    options: { http: { attempts: 2, retryBaseMs: 1, retryCapMs: 1, hooks: hooks ?? recording } },
  });
  return harness;
}

describe('hooks around the requests to the service', () => {
  afterEach(async () => {
    await harness.close();
    jest.restoreAllMocks();
  });

  test('see each request and its end, without a token and with card numbers masked', async () => {
    const { host } = await start();
    const custom = `token ${MAIN_TOKEN}, card ${CARD}`;
    const { billId } = await host.payments.createBill({ orderId: 'A-1', amount: '100.05', custom, name: 'Cups' });
    await host.payments.listPayments(billId);
    const created = {
      shop: 'main',
      operation: 'createBill',
      method: 'POST',
      url: `${harness.sandboxUrl}/api/v1/bill/create`,
      fields: {
        amount: '100.05',
        order_id: 'A-1',
        type: 'normal',
        shop_id: 'shop-main',
        currency_in: 'RUB',
        custom: 'token [secret], card 411111******1111',
        name: 'Cups',
      },
      startedAt: expect.any(Date) as unknown,
    };
    const listed = {
      shop: 'main',
      operation: 'listPayments',
      method: 'GET',
      url: `${harness.sandboxUrl}/api/v1/bill/payments?id=${billId}`,
      fields: {},
    };
    expect(before).toMatchObject([created, listed]);
    const ended = { status: 200, durationMs: expect.any(Number) as unknown };
    expect(after).toMatchObject([{ ...created, ...ended }, { ...listed, ...ended }]); // prettier-ignore
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(new Set(after.map(({ id }) => id)).size).toBe(2);
    expect(after.some(({ error }) => error)).toBe(false);
    expect(JSON.stringify([before, after])).not.toContain(MAIN_TOKEN);
  });

  test('see every attempt, with the code of its error', async () => {
    const { host, sandbox } = await start();
    const { billId } = await host.payments.createBill({ orderId: 'A-1', amount: '1' });
    const endsWith = async (fault: 'status500' | 'resetBefore' | 'malformed' | 'billNotFound' | 'unauthenticated') => {
      after.length = 0;
      await sandbox.setFaults({ requests: { [fault]: 1 } });
      await host.payments.listPayments(billId).catch(() => undefined);
      return after.map(({ status, error }) => [status, error?.code, error?.messageKey]);
    };
    expect(await endsWith('status500')).toEqual([
      [500, 'service-unavailable', expect.anything()],
      [500, 'service-unavailable', expect.anything()],
    ]);
    expect(await endsWith('resetBefore')).toEqual([
      [undefined, 'network', undefined],
      [undefined, 'network', undefined],
    ]);
    expect(await endsWith('malformed')).toEqual([[200, 'answer-not-understood', undefined]]);
    expect(await endsWith('billNotFound')).toEqual([[403, 'bill-not-found', 'api:error.bill_not_found']]);
    expect(await endsWith('unauthenticated')).toEqual([[401, 'unauthenticated', 'Unauthenticated']]);
    expect(before.length).toBe(8);
  });

  test('see the attempt with the shop’s second token as a request of its own', async () => {
    await start();
    const shops = {
      main: {
        shopId: 'shop-main',
        apiToken: NEXT_TOKEN,
        previousApiTokens: [MAIN_TOKEN],
        apiBaseUrl: harness.sandboxUrl,
      },
    };
    const rotated = await harness.start({
      options: { shops, http: { hooks: { afterResponse: (info) => after.push(info) } } },
    });
    await rotated.payments.createBill({ orderId: 'A-1', amount: '1' });
    expect(after.map(({ status }) => status)).toEqual([401, 200]);
  });

  test.each<[string, () => unknown]>([
    [
      'throw',
      () => {
        throw new Error('the audit is full');
      },
    ],
    ['reject', () => Promise.reject(new Error('the audit is full'))],
    ['never end', () => new Promise(() => undefined)],
  ])('that %s break no payment and delay nothing', async (name, fail) => {
    const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
    const { host, sandbox, settle, effects } = await start({ beforeRequest: fail, afterResponse: fail });
    const { billId } = await host.payments.createBill({ orderId: 'A-1', amount: '1' });
    await sandbox.pay(billId);
    await settle();
    expect(await effects()).toMatchObject([{ event: 'payment.succeeded' }]);
    const lines = logged.mock.calls.map(([line]) => String(line));
    expect(lines).toHaveLength(name === 'never end' ? 0 : 4);
    for (const line of lines)
      expect(line).toMatch(
        /^hook-failed: The hook (before|after)\w+ failed; .*the audit is full \{ shop: 'main', error: 'Error' \}$/,
      );
  });

  test('cannot change the request, and keep their own `this`', async () => {
    class Audit implements ServiceHttpHooks {
      readonly urls: string[] = [];
      beforeRequest(info: ServiceRequestInfo): void {
        this.urls.push(info.url);
        Object.assign(info.fields, { amount: '1.00' });
        Object.assign(info, { url: 'http://elsewhere' });
      }
      afterResponse({ url, fields }: ServiceResponseInfo): void {
        this.urls.push(url, fields['amount'] ?? '');
      }
    }
    const audit = new Audit();
    const { host, sandbox } = await start(audit);
    const { billId } = await host.payments.createBill({ orderId: 'A-1', amount: '100.05' });
    expect(sandbox.bill(billId).amount).toBe('100.05');
    const url = `${harness.sandboxUrl}/api/v1/bill/create`;
    expect(audit.urls).toEqual([url, url, '100.05']);
  });
});
