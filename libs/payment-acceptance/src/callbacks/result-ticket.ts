import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '../common/secret.js';
import type { Shop } from '../config/resolved-options.js';
import { uuidFromBytes } from '../domain/uuid.js';
import type { IntentId } from '../domain/ids.js';

const CONTENT_BYTES = 20;
const MAC_BYTES = 18;
const PURPOSE = 'nestjs-payment-acceptance/result-ticket/1';

/**
 * The unguessable part of the result page's address: our bill's id and an expiry time, with a MAC keyed by the shop's
 * token. It needs no storage, and any instance can read it.
 */
export function issueTicket(shop: Shop, intentId: IntentId, expiresAt: Date): string {
  const content = Buffer.alloc(CONTENT_BYTES);
  content.write(intentId.replaceAll('-', ''), 0, 'hex');
  content.writeUInt32BE(Math.floor(expiresAt.getTime() / 1000), 16);
  return Buffer.concat([content, mac(shop.token, shop.name, content)]).toString('base64url');
}

/** Unverified: use it only to find the shop whose token can verify the ticket. */
export function intentIdOf(ticket: string): string | undefined {
  const bytes = bytesOf(ticket);
  return bytes && uuidFromBytes(bytes);
}

/** Returns the id of our bill, or `undefined` for a foreign, altered or expired ticket. */
export function readTicket(shop: Shop, ticket: string, now: Date): string | undefined {
  const bytes = bytesOf(ticket);
  if (!bytes) return undefined;
  const content = bytes.subarray(0, CONTENT_BYTES);
  const receivedMac = bytes.subarray(CONTENT_BYTES);
  const isValid = [shop.token, ...shop.previousTokens].some((token) =>
    timingSafeEqual(receivedMac, mac(token, shop.name, content)),
  );
  if (!isValid || content.readUInt32BE(16) * 1000 < now.getTime()) return undefined;
  return uuidFromBytes(content);
}

function bytesOf(ticket: string): Buffer | undefined {
  const bytes = Buffer.from(ticket, 'base64url');
  return bytes.length === CONTENT_BYTES + MAC_BYTES && bytes.toString('base64url') === ticket ? bytes : undefined;
}

function mac(token: Secret, shop: string, content: Buffer): Buffer {
  return createHmac('sha256', token.reveal())
    .update(`${PURPOSE}\0${shop}\0`, 'utf8')
    .update(content)
    .digest()
    .subarray(0, MAC_BYTES);
}
