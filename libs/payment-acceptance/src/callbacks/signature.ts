import { createHash, timingSafeEqual } from 'node:crypto';
import type { Shop } from '../config/resolved-options.js';
import type { DigestCheck } from '../storage/callback.store.js';

/**
 * `SignatureValue` of a redirect (section 5.4, documented): MD5 of `OutSum:InvId:token` as 32 upper-case hexadecimal
 * digits, over the transmitted text. It covers neither the result nor the currency, and the payer sees it.
 */
export function redirectSignature(outSum: string, invId: string, token: string): string {
  return createHash('md5').update(`${outSum}:${invId}:${token}`, 'utf8').digest('hex').toUpperCase();
}

/** Compares with the digest of each token the shop accepts, in constant time, whatever the given text is. */
export function checkSignature(shop: Shop, outSum: string, invId: string, given: string | undefined): DigestCheck {
  if (given === undefined || given === '') return 'absent';
  const received = sha256(given);
  let match = false;
  for (const token of [shop.token, ...shop.previousTokens]) {
    // Equal lengths for the comparison, and nothing to learn from where two texts differ.
    match = timingSafeEqual(received, sha256(redirectSignature(outSum, invId, token.reveal()))) || match;
  }
  return match ? 'match' : 'mismatch';
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text, 'utf8').digest();
}
