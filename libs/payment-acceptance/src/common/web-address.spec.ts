import { expect, test } from '@jest/globals';
import { statedPageAddress, webAddress } from './web-address.js';

test.each([
  ['https://pay.example/link/1', 'https://pay.example/link/1'],
  ['HTTPS://Pay.Example', 'https://pay.example/'],
  [' https://pay.example/a b\n', 'https://pay.example/a%20b'],
  ['https://pay.example/\r\nSet-Cookie: a=b', 'https://pay.example/Set-Cookie:%20a=b'],
  ['https://pay.example/"><script>', 'https://pay.example/%22%3E%3Cscript%3E'],
  ['http://10.0.0.1:8080/x', 'http://10.0.0.1:8080/x'],
  ['https:pay.example', 'https://pay.example/'],
  ['javascript:alert(1)', null],
  ['\u0001javascript:alert(1)', null],
  ['data:text/html,x', null],
  ['httpsx://pay.example', null],
  ['https://', null],
  ['//pay.example', null],
  [`https://pay.example/${'x'.repeat(8_192)}`, null],
  [['https://pay.example'], null],
  [undefined, null],
])('the address %j is read as %j', (value, href) => {
  expect(webAddress(value)).toBe(href);
});

test('a payment page that an operator states must be https in production', () => {
  expect(statedPageAddress('http://pay.example/', true)).toBeNull();
  expect(statedPageAddress('http://pay.example/', false)).toBe('http://pay.example/');
  expect(statedPageAddress('https://pay.example', true)).toBe('https://pay.example/');
});
