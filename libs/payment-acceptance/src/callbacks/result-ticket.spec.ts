import { expect, test } from '@jest/globals';
import { resolveOptions } from '../config/resolve-options.js';
import { shopOf, shopOptions, TOKEN } from '../../../../test/support/units.js';
import { intentIdOf, issueTicket, readTicket } from './result-ticket.js';

const BILL = '01234567-89ab-4cde-8f01-23456789abcd';
const NOW = new Date('2026-11-21T12:00:00Z');
const LATER = new Date('2026-11-21T13:00:00Z');
const shop = shopOf();
const ticket = issueTicket(shop, BILL, LATER);

test('a result ticket identifies its bill and is URL-safe', () => {
  expect(readTicket(shop, ticket, NOW)).toBe(BILL);
  expect(ticket).toMatch(/^[\w-]{51}$/);
});

test('a result ticket stays the same in every release, since payers keep its address (computed with openssl)', () => {
  expect(ticket).toBe('ASNFZ4mrTN6PASNFZ4mrzWsBldAKXDsnO3sAlVRgGUjVpOYU-JQ');
});

test('a result ticket works until it expires, and not after', () => {
  expect(readTicket(shop, ticket, LATER)).toBe(BILL);
  expect(readTicket(shop, ticket, new Date(LATER.getTime() + 1))).toBeUndefined();
});

test('a result ticket altered in any one character is refused', () => {
  for (let index = 0; index < ticket.length; index += 1) {
    const other = ticket[index] === 'A' ? 'B' : 'A';
    expect(readTicket(shop, ticket.slice(0, index) + other + ticket.slice(index + 1), NOW)).toBeUndefined();
  }
});

test.each([
  '',
  'x',
  ticket.slice(1),
  `${ticket}A`,
  `${ticket}=`,
  ` ${ticket}`,
  BILL,
  '../../etc/passwd',
  '\0',
  'ё'.repeat(51),
])('%j is no ticket', (text) => {
  expect(readTicket(shop, text, NOW)).toBeUndefined();
  expect(intentIdOf(text)).toBeUndefined();
});

test('intentIdOf reads the intent of a ticket without verifying it, so also of a forged one', () => {
  expect(intentIdOf(issueTicket(shopOf({ apiToken: 'another-token-0123456789' }), BILL, LATER))).toBe(BILL);
});

test('a result ticket holds for one shop only, even if another shop has the same token', () => {
  const twins = resolveOptions({ shops: { main: shopOptions(), eu: shopOptions() } }, 'test').shops;
  expect(readTicket(twins.get('main')!, ticket, NOW)).toBe(BILL);
  expect(readTicket(twins.get('eu')!, ticket, NOW)).toBeUndefined();
});

test('a result ticket survives a rotation of the token while the old token is accepted', () => {
  const rotated = shopOf({ apiToken: 'a-new-token-0123456789', previousApiTokens: [TOKEN] });
  expect(readTicket(rotated, ticket, NOW)).toBe(BILL);
  expect(readTicket(shopOf({ apiToken: 'a-new-token-0123456789' }), ticket, NOW)).toBeUndefined();
});

test('a result ticket reveals nothing of the token and cannot be made without it', () => {
  expect(Buffer.from(ticket, 'base64url').toString('latin1')).not.toContain(TOKEN.slice(0, 4));
  const forged = issueTicket(shopOf({ apiToken: 'undefined-token-000000' }), BILL, LATER);
  expect(readTicket(shop, forged, NOW)).toBeUndefined();
});
