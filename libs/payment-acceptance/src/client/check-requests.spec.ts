import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymentServiceClient } from './payment-service.client.js';
import { PaymentServiceUnavailableError } from './service.errors.js';
import { ManualPaymentClock } from '../common/clock.js';
import type { ShopRegistry } from '../config/shop-registry.js';
import type { ResolvedOptions, Shop } from '../config/resolved-options.js';
import type { ClaimedBill } from '../domain/claim.js';
import { CheckRequests } from './check-requests.js';

const SHOP = { name: 'main', requestsPerSecond: 1_000, apiBaseUrl: 'https://pay.example/api' } as Shop;
const BILL = { shop: 'main', billId: 'b' } as ClaimedBill;

let clock: ManualPaymentClock;
let requests: CheckRequests;
let answer: () => Promise<never>;

describe('a request beside the checks of a shop', () => {
  beforeEach(() => {
    clock = new ManualPaymentClock();
    const client = { readPaymentList: () => answer() } as unknown as PaymentServiceClient;
    requests = new CheckRequests(client, { hostCount: 1 } as ShopRegistry, clock, {
      checks: { concurrency: 3 },
    } as ResolvedOptions);
    requests.requestsPerSecond(SHOP);
  });

  const fail = (status: number, retryAfterMs?: number): Promise<unknown> => {
    answer = () =>
      Promise.reject(
        new PaymentServiceUnavailableError({ shop: 'main', operation: 'listPayments', status }, retryAfterMs),
      );
    return requests.read(SHOP, BILL, new AbortController().signal).catch(() => undefined);
  };

  test('a request outside the checks of a shop leaves one place free for them', () => {
    expect(requests.spareCapacity('main', 1)).toBeGreaterThan(0);
    requests.acquire('main');
    expect(requests.spareCapacity('main', 1)).toBeGreaterThan(0);
    requests.acquire('main');
    expect(requests.spareCapacity('main', 1)).toBe(0);
    requests.release('main');
    expect(requests.spareCapacity('main', 1)).toBeGreaterThan(0);
  });

  test('all shops at one host of the service leave half of the places to shops at another host', () => {
    const shops = { hostCount: 1 };
    const requests = new CheckRequests({} as PaymentServiceClient, shops as ShopRegistry, clock, {
      checks: { concurrency: 8 },
    } as ResolvedOptions);
    const names = ['a', 'b', 'c'];
    for (const name of names) requests.requestsPerSecond({ ...SHOP, name });
    for (const name of names) requests.acquire(name);
    expect(requests.free('a', 4)).toBe(3);
    shops.hostCount = 2;
    requests.requestsPerSecond({ ...SHOP, name: 'other', apiBaseUrl: 'https://other.example/api' });
    requests.acquire('a');
    expect([...names, 'other'].map((name) => requests.free(name, 4))).toEqual([0, 0, 0, 4]);
    // A shop that moves keeps its host until its requests have ended.
    requests.requestsPerSecond({ ...SHOP, name: 'b', apiBaseUrl: 'https://other.example/api' });
    requests.release('b');
    expect(requests.free('a', 4)).toBe(1);
    requests.requestsPerSecond({ ...SHOP, name: 'b', apiBaseUrl: 'https://other.example/api' });
    expect(requests.free('b', 4)).toBe(4);
  });

  test('a request outside the checks of a shop waits out the pause that the service asked for', async () => {
    await fail(429, 10_000);
    expect(requests.spareCapacity('main', 1)).toBe(0);
    clock.advance(11_000);
    expect(requests.spareCapacity('main', 1)).toBeGreaterThan(0);
  });

  test('a request outside the checks of a shop waits while the service is down, but not for ever', async () => {
    for (let count = 0; count < 5; count += 1) {
      await fail(500);
      clock.advance(1_000);
    }
    expect(requests.spareCapacity('main', 1)).toBe(0);
    clock.advance(61_000);
    expect(requests.spareCapacity('main', 1)).toBeGreaterThan(0);
  });

  test('a request outside the checks of a shop is possible where only one request may run', async () => {
    for (let count = 0; count < 3; count += 1) await fail(429);
    expect(requests.workload()).toMatchObject([{ limit: 1 }]);
    expect(requests.spareCapacity('main', 1)).toBeGreaterThan(0);
    requests.acquire('main');
    expect(requests.spareCapacity('main', 1)).toBe(0);
  });
});
