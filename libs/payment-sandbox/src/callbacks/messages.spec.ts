import { expect, test } from '@jest/globals';
import { signatureOf } from './messages.js';

test('the signature is the upper-case MD5 of OutSum:InvId:token', () => {
  // printf '100.05:order-1:token' | md5sum
  expect(signatureOf('100.05', 'order-1', 'token')).toBe('6D57A03DD556DC00A12E83BF53DB5038');
});
