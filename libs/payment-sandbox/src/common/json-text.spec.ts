import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { jsonMembers, JsonNumber, jsonText } from './json-text.js';

describe('JSON text', () => {
  test('jsonText writes a JsonNumber with its own digits', () => {
    expect(jsonText({ a: new JsonNumber('100.00'), b: [new JsonNumber('0.10'), null, undefined, '"'] })).toBe(
      '{"a":100.00,"b":[0.10,null,null,"\\""]}',
    );
  });

  test('jsonText writes plain values like JSON.stringify', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => jsonText(value) === JSON.stringify(value)));
  });

  test('jsonMembers returns the members as they were written', () => {
    const text =
      ' {"a": 1e+06, "b" : [-0.10, "7 \\" 8,}"], "c":100000000000000000000.1, "5": true, "b,": {"x": {}}, "":"\\u0031" } ';
    expect(jsonMembers(text)).toEqual([
      ['a', '1e+06'],
      ['b', '[-0.10,"7 \\" 8,}"]'],
      ['c', '100000000000000000000.1'],
      ['5', 'true'],
      ['b,', '{"x":{}}'],
      ['', '"\\u0031"'],
    ]);
    for (const none of ['{}', '[{"a":1}]', '"a"', '1']) expect(jsonMembers(none)).toEqual([]);
  });

  test('jsonMembers returns members with the right values, however the object is formatted', () => {
    const objects = fc.dictionary(fc.string(), fc.jsonValue());
    fc.assert(
      fc.property(objects, fc.constantFrom(0, 1, '\t'), (object, indent) => {
        const members = jsonMembers(JSON.stringify(object, null, indent));
        expect(members.map(([name, value]): unknown => [name, JSON.parse(value)])).toEqual(
          Object.entries(JSON.parse(JSON.stringify(object)) as object),
        );
      }),
    );
  });

  test('jsonMembers refuses text that is not JSON', () => {
    for (const text of ['', '{', '01', '{"a":1,}']) expect(() => jsonMembers(text)).toThrow(SyntaxError);
  });
});
