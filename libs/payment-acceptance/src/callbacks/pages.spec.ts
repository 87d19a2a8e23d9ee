import { createHash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import type { PaymentResult } from '../config/hooks.js';
import { messagePage, neutralPage, PAGE_POLICY, resultPage } from './pages.js';

const result = (more: Partial<PaymentResult> = {}): PaymentResult => ({
  shop: 'main',
  orderId: 'A-1',
  result: 'paid',
  amount: '100.05',
  currency: 'RUB',
  ...more,
});

test.each([
  ['paid', 'Payment received', true],
  ['failed', 'Payment failed', false],
  ['pending', 'Checking your payment', false],
] as const)('the page of a %s payment says "%s" and names the order', (state, title, amount) => {
  const html = resultPage(result({ result: state }));
  expect(html).toContain(`<h1>${title}</h1>`);
  expect(html).toContain('Order A-1');
  expect(html.includes('100.05 RUB')).toBe(amount);
});

test.each([
  ['result', (text: string) => resultPage(result({ orderId: text }))],
  ['neutral', neutralPage],
  ['message', (text: string) => messagePage(text, text)],
])('nothing of a callback becomes markup on the %s page', (_name, page) => {
  const html = page(`"><script>alert('1')</script>&amp;`);
  expect(html).not.toMatch(/<script|alert\('/);
  expect(html).toContain('&#60;script&#62;');
});

test.each([
  ['result', (text: string) => resultPage(result({ orderId: text }))],
  ['neutral', neutralPage],
])('bidirectional controls in an order id do not reach the %s page', (_name, page) => {
  expect(page('A-1\u202e5.001 diaP\u2066\u200f\u0085')).not.toMatch(/[\u200e-\u202e\u2066-\u2069\u0080-\u009f]/);
});

test('the Content-Security-Policy of a page allows its own style and nothing else', () => {
  const style = /<style>([^]*)<\/style>/.exec(neutralPage('A-1'))?.[1] ?? '';
  const hash = createHash('sha256').update(style).digest('base64');
  expect(PAGE_POLICY).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
});
