import { describe, expect, test } from '@jest/globals';
import { headerWithoutSecrets, withoutSecrets } from './secrets.js';

const TOKEN = '72|aBcDeFgHiJkLmNoP';

describe('secrets in a recorded request', () => {
  test.each([
    ['authorization', `Bearer ${TOKEN}`, 'Bearer 72|…'],
    ['Authorization', 'abcdefghijkl', 'abcd…'],
    ['Authorization', 'Basic dXNlcjpwYXNz', 'Basic dXNl…'],
    ['Authorization', '', ''],
    ['Cookie', 'session=1234567890', 'sess…'],
    ['X-Api-Key', '1234567890', '123…'],
    ['Referer', `http://a.test/?t=${TOKEN}`, 'http://a.test/?t=72|…'],
    ['Accept', '*/*', '*/*'],
  ])('the recorded header %s with the value %s is kept as %s', (name, value, kept) => {
    expect(headerWithoutSecrets(name, value, [TOKEN])).toBe(kept);
  });

  test.each([
    ['its token, wherever it stands', `custom=${TOKEN}&x=${encodeURIComponent(TOKEN)}`, 'custom=72|…&x=72|…'],
    ['a token by its name in a form', 'amount=5&api_token=1234567890&a=1', 'amount=5&api_token=123…&a=1'],
    ['a token by its name in a query string', '/api/x?token=1234567890', '/api/x?token=123…'],
    ['a token in a field for the header', 'a=1&authorization=Bearer+1234567890', 'a=1&authorization=Bear…'],
    ['a password by its name in JSON', '{"a":1,"password":"12345\\"67890"}', '{"a":1,"password":"1234…"}'],
    [
      'a secret by its name in a multipart body',
      '--b\r\nContent-Disposition: form-data; name="secret"\r\n\r\n1234567890\r\n--b--',
      '--b\r\nContent-Disposition: form-data; name="secret"\r\n\r\n123…\r\n--b--',
    ],
    ['a card number', 'custom=4111 1111 1111 1111', 'custom=411111******1111'],
  ])('a recorded request keeps only the first characters of %s', (_what, text, kept) => {
    expect(withoutSecrets(text, [TOKEN])).toBe(kept);
  });

  test.each(['order_id=1732104000007', 'amount=4111111111111112', 'amount=100.05&order_id=1&tok=1'])(
    'a recorded request without a secret is kept as it is: %s',
    (text) => expect(withoutSecrets(text, ['1', 'short'])).toBe(text),
  );
});
