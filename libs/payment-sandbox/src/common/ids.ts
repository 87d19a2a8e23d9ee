import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Unguessable, because the identifier appears in addresses that payers open. */
export function randomId(): string {
  let id = '';
  while (id.length < 16) {
    for (const byte of randomBytes(24)) {
      // 248 is the largest multiple of 62 in a byte; using more would favour some characters.
      if (byte < 248 && id.length < 16) id += ALPHABET.charAt(byte % 62);
    }
  }
  return id;
}

/** Compares in constant time. */
export function equalSecrets(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

/** Returns enough of a token to tell tokens apart, and too little to use: `72|…`, `sand…`. */
export function firstCharacters(token: string): string {
  const id = /^[^|]{1,6}\|/.exec(token)?.[0];
  return `${id ?? token.slice(0, Math.min(4, Math.floor(token.length / 3)))}…`;
}
