import { describe, expect, test } from '@jest/globals';
import { readMessage } from './answers.js';

describe('the message of an error', () => {
  test.each([
    ['{"message":"api:error.bill_not_found","success":false}', 'api:error.bill_not_found'],
    ['{"message":"Unauthenticated."}', 'Unauthenticated.'],
    ['{"error":"api:error.merchant_banned"}', 'api:error.merchant_banned'],
    ['{"error":{"code":403,"status":"error","message":"api:error.bill_not_found"}}', 'api:error.bill_not_found'],
    ['{"errors":[{"code":"403","detail":"api:error.bill_not_found"}]}', 'api:error.bill_not_found'],
    ['{"error":403}', undefined],
    ['{"errors":["api:error.too_many_payments"]}', 'api:error.too_many_payments'],
    ['{"error_code":1012,"error_message":"Shop 4111 1111 1111 1111 is closed."}', 'Shop 411111******1111 is closed.'],
    ['{"success":false,"error_code":"1012"}', 'error_code 1012'],
    ['{"success":false,"error_code":""}', undefined],
    ['{"success":false,"error_code":1012}', 'error_code 1012'],
    ['{"result":{"error_message":"not here"}}', undefined],
    ['{"errors":{"amount":["The amount is wrong."]}}', 'The amount is wrong.'],
    ['{"message":"","errors":[{"detail":"x"}]}', 'x'],
    ['{"message":null}', undefined],
    ['{}', undefined],
    ['plain text', 'plain text'],
    ['<html><body><h1>502</h1> Bad\n Gateway</body></html>', '502 Bad Gateway'],
    ['<h1>502</h1><p>Bad</p>', '502 Bad'],
    ['', undefined],
    ['   ', undefined],
    ['[]', '[]'],
    ['{"error":{"detail":"last","error":"first"}}', 'first'],
    ['{"error":{"detail":"last","errors":["first"]}}', 'first'],
    ['{"message":"-403","error":"+4.03 ","errors":"403 "}', undefined],
    ['{"message":"403","error":"403 Forbidden"}', '403 Forbidden'],
    ['{"message":"Error 403"}', 'Error 403'],
    ['{"errors":[[[["deep"]]]]}', 'deep'],
    ['{"errors":[[[[["too deep"]]]]]}', undefined],
  ])('the error message of the answer %j is %j', (text, message) => {
    expect(readMessage(text)).toBe(message);
  });

  test('an error message is cut at 200 characters', () => {
    expect(readMessage('x'.repeat(201))).toBe('x'.repeat(200));
    expect(readMessage(`${'x'.repeat(199)} x`)).toBe('x'.repeat(199));
  });

  test('an error message is only looked for in the first 4,096 characters of an answer that is not JSON', () => {
    expect(readMessage(`${'\n'.repeat(4_095)}x`)).toBe('x');
    expect(readMessage(`${'\n'.repeat(4_096)}x`)).toBeUndefined();
  });
});

test('secrets are removed from an error message before it is cut', () => {
  const text = `${'x '.repeat(98)}token-0123456789`;
  expect(readMessage(text, (line) => line.replaceAll('token-0123456789', '[secret]'))).toMatch(/x \[sec$/);
});
