import { expect, test } from '@jest/globals';
import { PaymentClock } from '../common/clock.js';
import type { ShopRegistry } from '../config/shop-registry.js';
import { FollowedShops } from './followed-shops.js';
import type { ShopIdentities } from './shop-identities.js';
import type { DueStore } from './storage/due.store.js';
import type { ShopStore } from './storage/shop.store.js';

test('while the resolver hangs, a poll starts with the shops of the options and asks for few others', async () => {
  const asked: string[] = [];
  const shops = {
    isConfigured: (name: string) => name === 'local',
    get: (name: string) => {
      asked.push(name);
      return name === 'local' ? Promise.resolve({ name }) : new Promise(() => undefined);
    },
  } as unknown as ShopRegistry;
  const identities = { bind: () => Promise.resolve() } as unknown as ShopIdentities;
  const followed = new FollowedShops({} as DueStore, {} as ShopStore, shops, identities, new PaymentClock());
  const names = [...Array.from({ length: 100 }, (_, index) => `shop-${index}`), 'local'];
  const settings: string[] = [];
  for await (const { name } of followed.settingsOf(names)) settings.push(name);
  expect(settings).toEqual(['local']);
  expect([asked[0], asked.length]).toEqual(['local', 24]);
});

test('with a slow resolver, every shop has its turn before the first has its second', async () => {
  const asked: string[] = [];
  const shops = {
    isConfigured: () => false,
    get: (name: string) => {
      asked.push(name);
      return new Promise(() => undefined);
    },
  } as unknown as ShopRegistry;
  const followed = new FollowedShops({} as DueStore, {} as ShopStore, shops, {} as ShopIdentities, new PaymentClock());
  const names = Array.from({ length: 70 }, (_, index) => `shop-${index}`);
  for (let poll = 0; poll < 3; poll += 1)
    for await (const shop of followed.settingsOf(names)) throw new Error(shop.name);
  expect(new Set(asked).size).toBe(70);
});
