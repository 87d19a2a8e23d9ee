import { expect, test } from '@jest/globals';
import { inspect } from 'node:util';
import { shopOf, TOKEN } from '../../../../test/support/units.js';
import { TokenOwners } from './token-owners.js';

const OTHER = 'other-token-0123456789abcdef';
const shop = (name: string, apiToken: string, ...previousApiTokens: string[]) => ({
  ...shopOf({ apiToken, previousApiTokens }),
  name,
});

test('a token belongs to the first shop that registers it, present or previous, until that shop releases it', () => {
  const owners = new TokenOwners();
  const a = shop('a', TOKEN, OTHER);
  expect([owners.register(a), owners.register(a)]).toEqual([undefined, undefined]);
  expect(owners.register(shop('b', TOKEN))).toBe('a');
  expect(owners.register(shop('b', OTHER))).toBe('a');
  expect(owners.register(shop('b', 'third-token-0123456789', TOKEN))).toBe('a');
  owners.release(shop('b', TOKEN));
  expect(owners.register(shop('b', TOKEN))).toBe('a');
  owners.release(a);
  expect(owners.register(shop('b', TOKEN))).toBeUndefined();
});

test('TokenOwners keeps no token', () => {
  const owners = new TokenOwners();
  owners.register(shop('a', TOKEN));
  expect(inspect(owners, { depth: 10, showHidden: true })).not.toContain(TOKEN);
});
