import { hash, timingSafeEqual } from 'node:crypto';
import type { Shop } from '../config/resolved-options.js';
import type { DigestCheck } from '../domain/callback.js';

const DIGEST_LENGTH = 32;

/**
 * `SignatureValue` of a redirect (section 5.4, documented): MD5 of `OutSum:InvId:token` as 32 upper-case hexadecimal
 * digits, over the transmitted text. It covers neither the result nor the currency, and the payer sees it.
 */
export function redirectSignature(outSum: string, invId: string, token: string): string {
  return hash('md5', `${outSum}:${invId}:${token}`, 'hex').toUpperCase();
}

/** Compares the given text with the digest for each token that the shop accepts, in constant time. */
export function checkSignature(shop: Shop, outSum: string, invId: string, digest: string | undefined): DigestCheck {
  if (digest === undefined || digest === '') return 'absent';
  // Equal lengths, as timingSafeEqual requires; the time reveals nothing about where the texts differ.
  const received = Buffer.alloc(DIGEST_LENGTH);
  received.write(digest, 'utf8');
  let match = false;
  for (const token of [shop.token, ...shop.previousTokens]) {
    const expected = Buffer.from(redirectSignature(outSum, invId, token.reveal()));
    match = (timingSafeEqual(received, expected) && digest.length === DIGEST_LENGTH) || match;
  }
  return match ? 'match' : 'mismatch';
}
