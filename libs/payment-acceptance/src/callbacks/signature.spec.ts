import { describe, expect, test } from '@jest/globals';
import { shopOf } from '../../../../test/support/units.js';
import { checkSignature, redirectSignature } from './signature.js';

/** Computed with md5sum from the formula of section 5.4. */
const VECTORS = [
  ['100.05', 'order-1', 'secret-token', 'D82A7541D92CE464621B3425EC74DF97'],
  ['100.00', '42', '0123456789abcdef', 'DDF128D3CD78F48E72EFA855EEF8BA6F'],
  ['100', '42', '0123456789abcdef', '9316CE6A1CB34B16462FBA9A1CA49BBB'],
  ['12345678.90', 'заказ 7', '0123456789abcdef', '88C42165B244A5B509203973DD6F87D5'],
] as const;

describe.each(VECTORS)('OutSum %s, InvId %s, token %s', (outSum, invId, token, digest) => {
  test('redirectSignature gives the digest of the published formula', () => {
    expect(redirectSignature(outSum, invId, token)).toBe(digest);
  });

  test('a right digest is accepted by the shop of the token, also if it is a previous token', () => {
    expect(checkSignature(shopOf({ apiToken: token }), outSum, invId, digest)).toBe('match');
    expect(checkSignature(shopOf({ previousApiTokens: ['another-token-000', token] }), outSum, invId, digest)).toBe(
      'match',
    );
    expect(checkSignature(shopOf(), outSum, invId, digest)).toBe('mismatch');
  });
});

const [outSum, invId, token, digest] = VECTORS[0];
const shop = shopOf({ apiToken: token });

test.each([
  ['other amount', '100.06', invId],
  ['the same amount written otherwise', '100.050', invId],
  ['other order', outSum, 'order-2'],
  ['the colon moved', '100.05:order', '1'],
])('a digest computed over other fields is a mismatch: %s', (_name, sum, id) => {
  expect(checkSignature(shop, sum, id, digest)).toBe('mismatch');
});

test.each([
  digest.toLowerCase(), `${digest} `, digest.slice(0, 31), `${digest}0`, '0'.repeat(32), 'undefined', 'ё'.repeat(32), '\0',
  'x'.repeat(100_000),
])('the digest %.40j is a mismatch, not an exception', (given) => {
  expect(checkSignature(shop, outSum, invId, given)).toBe('mismatch');
}); // prettier-ignore

test('an absent or empty digest is neither a match nor a mismatch', () => {
  expect(checkSignature(shop, outSum, invId, undefined)).toBe('absent');
  expect(checkSignature(shop, outSum, invId, '')).toBe('absent');
});

test('a digest computed with the text "undefined" or an empty token is a mismatch', () => {
  expect(checkSignature(shop, outSum, invId, redirectSignature(outSum, invId, 'undefined'))).toBe('mismatch');
  expect(checkSignature(shop, outSum, invId, redirectSignature(outSum, invId, ''))).toBe('mismatch');
});
