import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { JsonNumber, jsonText, parseJsonWithNumbersAsText } from './json-text.js';

describe('JSON text', () => {
  test('numbers are written as their own text', () => {
    expect(jsonText({ a: new JsonNumber('100.00'), b: [new JsonNumber('0.10'), null, undefined, '"'] })).toBe(
      '{"a":100.00,"b":[0.10,null,null,"\\""]}',
    );
  });

  test('it is what JSON.stringify writes of plain values', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => jsonText(value) === JSON.stringify(value)));
  });

  test('numbers are read as their own text, and texts stay as they are', () => {
    const text = '{"a": 1e+06, "b": [-0.10, "7 \\" 8"], "c": 100000000000000000000.1, "5": true}';
    expect(parseJsonWithNumbersAsText(text)).toEqual({
      a: '1e+06',
      b: ['-0.10', '7 " 8'],
      c: '100000000000000000000.1',
      '5': true,
    });
  });

  test('what is not JSON is refused', () => {
    for (const text of ['', '{', '01', '{"a":1,}']) expect(() => parseJsonWithNumbersAsText(text)).toThrow(SyntaxError);
  });
});
