import { expect, test } from '@jest/globals';
import { PaymentClock } from '../common/clock.js';
import type { ShopRegistry } from '../config/shop-registry.js';
import { PaymentShopResolverError } from '../config/shop.errors.js';
import { AddedConsumers } from './added-consumers.js';
import { ForeignShops } from './foreign-shops.js';

const shopsOf = (registry: object): ForeignShops => new ForeignShops(registry as ShopRegistry, new PaymentClock());

test('a delivery of a shop that was found before does not wait for the shop resolver', async () => {
  const never = new Promise<never>(() => undefined);
  expect(await shopsOf({ peek: () => ({}), find: () => never }).isForeign('main')).toBe(false);
});

test('a shop is foreign if the resolver does not have it, not while the resolver fails', async () => {
  const failing = Promise.reject(new PaymentShopResolverError('main', new Error('down')));
  expect(await shopsOf({ peek: () => undefined, find: () => failing }).isForeign('main')).toBe(false);
  expect(await shopsOf({ peek: () => ({}), find: () => failing }).isForeign('main')).toBe(false);
  const foreign = shopsOf({ peek: () => undefined, find: () => Promise.resolve(undefined) });
  expect(await foreign.isForeign('main')).toBe(true);
  expect(foreign.names()).toEqual(['main']);
});

test('a broker of a module that is loaded after the start is refused', () => {
  const added = new AddedConsumers({ mayExist: () => true } as unknown as ShopRegistry);
  const consumer = { kind: 'lease', name: 'bus', event: 'payment.succeeded', shops: null } as never;
  added.add('Bus', [consumer]);
  expect(added.beside([])).toEqual([consumer]);
  expect(() => added.add('Late', [])).toThrow('import its module at start');
});
