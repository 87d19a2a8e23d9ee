import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ConsoleRequest } from './options.js';

const KEY_BYTES = 32;
const PURPOSE = 'nestjs-payment-acceptance/console-form/1';

/**
 * Proves that this browser was given the form: a MAC over the operator, the action and its target, keyed by a cookie
 * that no script and no other site can read or send. It needs no storage, and any instance can check it. Over https the
 * cookie's name begins with `__Host-`, so that no sibling domain can plant one.
 */
export class CsrfTokens {
  private readonly name: string;
  private readonly secure: boolean;
  private key: Buffer | undefined;
  private fresh = false;

  constructor({ headers, protocol }: ConsoleRequest) {
    this.secure = protocol === 'https' || /^https\b/i.test(String(headers['x-forwarded-proto'] ?? ''));
    this.name = `${this.secure ? '__Host-' : ''}payment-console`;
    const pattern = new RegExp(`(?:^|;\\s*)${this.name}=([\\w-]{43})(?:;|$)`);
    const encodedKey = pattern.exec(String(headers.cookie ?? ''))?.[1];
    this.key = encodedKey === undefined ? undefined : Buffer.from(encodedKey, 'base64url');
  }

  get cookie(): string | undefined {
    if (!this.fresh || !this.key) return undefined;
    const value = this.key.toString('base64url');
    return `${this.name}=${value}; Path=/; HttpOnly; SameSite=Strict${this.secure ? '; Secure' : ''}`;
  }

  issue(purpose: readonly string[]): string {
    if (!this.key) {
      this.key = randomBytes(KEY_BYTES);
      this.fresh = true;
    }
    return mac(this.key, purpose).toString('base64url');
  }

  isValid(token: string, purpose: readonly string[]): boolean {
    if (!this.key || this.fresh) return false;
    const receivedMac = Buffer.from(token, 'base64url');
    const right = mac(this.key, purpose);
    return receivedMac.length === right.length && timingSafeEqual(receivedMac, right);
  }
}

function mac(key: Buffer, parts: readonly string[]): Buffer {
  return createHmac('sha256', key)
    .update(JSON.stringify([PURPOSE, ...parts]), 'utf8')
    .digest();
}
