import { createHmac, randomBytes } from 'node:crypto';
import type { Shop } from './resolved-options.js';

/**
 * Finds shops that share a token, present or previous. A redirect's digest names no shop, so that with one token a redirect
 * of either would count as the other's. Keeps fingerprints, never a token.
 */
export class TokenOwners {
  private readonly key = randomBytes(32);
  private readonly owners = new Map<string, string>();

  /** Takes note of the shop's tokens; gives the name of another shop that has one of them. */
  register(shop: Shop): string | undefined {
    let other: string | undefined;
    for (const token of this.fingerprints(shop)) {
      const owner = this.owners.get(token);
      if (owner === undefined) this.owners.set(token, shop.name);
      else if (owner !== shop.name) other ??= owner;
    }
    return other;
  }

  /** Forgets the tokens that the shop had. */
  release(shop: Shop): void {
    for (const token of this.fingerprints(shop)) {
      if (this.owners.get(token) === shop.name) this.owners.delete(token);
    }
  }

  private fingerprints({ token, previousTokens }: Shop): string[] {
    return [token, ...previousTokens].map((secret) =>
      createHmac('sha256', this.key).update(secret.reveal()).digest('base64'),
    );
  }
}

export function sharedTokenFlaw(name: string, other: string): string {
  return (
    `shops.${name}.apiToken: this shop and "${other}" share a token, present or previous. ` +
    'Each shop has a token of its own at the service: set that one.'
  );
}
