import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SEED } from '../../../../test/support/seed.js';
import { maskCards, redactFields } from './redact.js';

describe('maskCards', () => {
  test.each([
    ['4111111111111111', '411111******1111'],
    ['4111 1111 1111 1111', '411111******1111'],
    ['4111-1111-1111-1111', '411111******1111'],
    ['card: 4111111111111111.', 'card: 411111******1111.'],
    ['378282246310005', '378282******0005'],
    ['6304000000000000', '630400******0000'],
    ['4111111111111111,5500005555555559', '411111******1111,550000******5559'],
    ['7 4111 1111 1111 1111', '7 411111******1111'],
    ['4111 1111 1111 1111 12', '411111******1111 12'],
    ['order 15 4111111111111111 7', 'order 15 411111******1111 7'],
    ['4111111111111111 5500005555555559', '411111******1111 550000******5559'],
  ])('%s becomes %s', (text, masked) => {
    expect(maskCards(text)).toBe(masked);
  });

  test.each(['411111******1111', '4111111111111112', '2026-11-21 12:00:00', '79991234567', '100.05', '', 'A-1'])(
    '%j is no card number and stays',
    (text) => {
      expect(maskCards(text)).toBe(text);
    },
  );
});

describe('redactFields', () => {
  test('keeps everything but the digest, unknown fields included', () => {
    const fields = {
      Status: 'SUCCESS',
      SignatureValue: 'D8',
      signature: 'x',
      PayerEmail: 'a@example',
      ErrorCode: 0,
      x: null,
    };
    expect(redactFields(fields)).toEqual({ Status: 'SUCCESS', PayerEmail: 'a@example', ErrorCode: 0, x: null });
  });

  test('masks cards in values, in names, in numbers and below', () => {
    const card = '4111111111111111';
    const kept = JSON.stringify(
      redactFields({ card, [card]: 'name', n: Number(card), deep: { list: [card, { card }] } }),
    );
    expect(kept).not.toContain(card);
    expect(kept.match(/411111\*{6}1111/g)).toHaveLength(5);
  });

  test('bounds depth, width, length and the whole', () => {
    const deep = redactFields({ a: { b: { c: { d: { e: 1 } } } } });
    expect(JSON.stringify(deep)).toBe('{"a":{"b":{"c":{}}}}');
    const wide = redactFields(Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`f${i}`, i])));
    expect(Object.keys(wide)).toHaveLength(64);
    const long = redactFields({ custom: 'x'.repeat(100_000) }) as { custom: string };
    expect(long.custom).toHaveLength(4_000);
    const whole = redactFields({
      Status: 'SUCCESS',
      ...Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`f${i}`, 'y'.repeat(4_000)])),
    });
    expect(whole).toEqual({ Status: 'SUCCESS', _truncated: true });
  });

  test(`any JSON becomes bounded JSON that a database takes (TEST_SEED=${SEED})`, () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (fields) => {
        const text = JSON.stringify(redactFields(fields));
        expect(text.length).toBeLessThanOrEqual(64 * 600);
        expect(text).not.toMatch(/\\u0000|\\ud[89ab]|\\ud[c-f]/i);
      }),
    );
  });

  test('prototypes are left alone', () => {
    const fields = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": 1}}}',
    ) as object;
    redactFields(fields);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
