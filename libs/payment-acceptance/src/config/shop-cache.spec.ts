import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { resolved, shopOptions, TOKEN } from '../../../../test/support/units.js';
import { PaymentClock } from '../common/clock.js';
import type { PaymentShopOptions } from './service-options.js';
import { ShopCache } from './shop-cache.js';

const rows = new Map<string, PaymentShopOptions>();
const shopResolver = {
  find: (name: string) => Promise.resolve(rows.get(name) ?? null),
  list: () => Promise.resolve([...rows.keys()]),
};
const own = (number: number) => ({ apiToken: `token-of-tenant-${number}` });

let warned: string[];
let cache: ShopCache;

describe('shop cache', () => {
  beforeEach(() => {
    warned = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void warned.push(String(line)));
    rows.clear();
    cache = new ShopCache(shopResolver, resolved({}, { shopResolver, shopLookup: { cacheMs: 1 } }), new PaymentClock());
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });

  /** Looks a shop up as if its cache entry had expired. */
  async function read(name: string): Promise<void> {
    const shop = cache.peek(name);
    await (shop ? cache.refresh(shop) : cache.find(name));
  }

  test('two shops that share a token cause one warning, without the token', async () => {
    rows.set('a', shopOptions(own(1))).set('b', shopOptions({ ...own(2), previousApiTokens: [own(1).apiToken] }));
    for (const name of ['a', 'b', 'a', 'b']) await read(name);
    expect(warned).toEqual([
      expect.stringMatching(/^configuration-warning: shops\.b\.apiToken: this shop and "a" share a token/),
    ]);
    expect(warned.join()).not.toContain('token-of-tenant');
  });

  test('a list of rows in place of names causes a warning', async () => {
    jest.spyOn(shopResolver, 'list').mockResolvedValue([Object.create(null) as string, 'b']);
    expect(await cache.list()).toEqual(['b']);
    expect(warned).toEqual([expect.stringContaining('list() of the shop resolver returned invalid shop names: ')]);
  });

  test('a resolved shop that shares a token with a shop of the options causes a warning', async () => {
    rows.set('a', shopOptions({ apiToken: TOKEN }));
    await read('a');
    expect(warned).toEqual([expect.stringContaining('this shop and "main" share a token')]);
  });

  test('a token that its shop gave up, or whose shop is gone, can be used by another without a warning', async () => {
    rows.set('a', shopOptions(own(1))).set('c', shopOptions(own(3)));
    await read('a');
    await read('c');
    rows.set('a', shopOptions(own(4))).delete('c');
    await read('a');
    await read('c');
    rows.set('b', shopOptions({ ...own(1), previousApiTokens: [own(3).apiToken] }));
    await read('b');
    expect(warned).toEqual([]);
    expect(cache.peek('b')?.name).toBe('b');
  });
});
