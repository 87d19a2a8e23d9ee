import { createHmac, randomBytes } from 'node:crypto';
import type { Shop } from './resolved-options.js';

/**
 * Finds shops that share a current or previous token. A redirect's digest names no shop, so with a shared token a
 * redirect of one shop would also be valid for the other. Stores fingerprints, never a token.
 */
export class TokenOwners {
  private readonly key = randomBytes(32);
  private readonly owners = new Map<string, string>();

  /** Returns the name of another shop that has one of the tokens, if any. */
  register(shop: Shop): string | undefined {
    let other: string | undefined;
    for (const token of this.fingerprints(shop)) {
      const owner = this.owners.get(token);
      if (owner === undefined) this.owners.set(token, shop.name);
      else if (owner !== shop.name) other ??= owner;
    }
    return other;
  }

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

export function sharedTokenProblem(name: string, other: string): string {
  return (
    `shops.${name}.apiToken: this shop and "${other}" share a token, current or previous. ` +
    'The service issues each shop its own token: set that one.'
  );
}
