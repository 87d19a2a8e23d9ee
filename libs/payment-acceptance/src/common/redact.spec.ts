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
    ['135410014004955', '135410******4955'],
    ['6304000000000000', '630400******0000'],
    ['4111111111111111,5500005555555559', '411111******1111,550000******5559'],
    ['7 4111 1111 1111 1111', '7 411111******1111'],
    ['4111 1111 1111 1111 12', '411111******1111 12'],
    ['order 15 4111111111111111 7', 'order 15 411111******1111 7'],
    ['4111111111111111 5500005555555559', '411111******1111 550000******5559'],
    ['4111.1111.1111.1111', '411111******1111'],
    ['4111\u00a01111\u00a01111\u00a01111', '411111******1111'],
    ['4111  1111  1111  1111', '411111******1111'],
    ['4111 \u2013 1111 \u2013 1111 \u2013 1111', '411111******1111'],
    ['4111/1111/1111/1111', '411111******1111'],
    ['4111_1111_1111_1111', '411111******1111'],
    ['4111+1111+1111+1111', '411111******1111'],
    ['4111%201111%201111%201111', '411111******1111'],
    ['%204111111111111111', '%20411111******1111'],
    ['card=4111%2D1111%2D1111%2D1111', 'card=411111******1111'],
    ['4111%C2%A01111%2520111%0A1%2b1111', '411111******1111'],
    [String.raw`4111\u00201111\u20091111\n1111`, '411111******1111'],
    ['5%4111111111111111', '5%411111******1111'],
    ['%e4111.1111.1111.1111', '%e411111******1111'],
    ['%25f4111-1111-1111-1111', '%25f411111******1111'],
    ['4111%E2%80%931111%e2%80%891111%E3%80%801111', '411111******1111'],
    ['2026-11-21 12:00:00 4111.1111.1111.1111', '2026-11-21 12:00:00 411111******1111'],
    ['4111 1111 1111 1111 0', '411111******1111 0'],
    ['4111111111111111 &#31;&#xd800;&#57343;&#1114112;x', '411111******1111     x'],
    ['4111111111111111 &#33;&#57344;&#1114111;', '411111******1111 !\ue000\u{10ffff}'],
    ['41111111-1111-1111-0000-000000000001', '411111******1111-0000-000000000001'],
    ['501999000000', '501999******0000'],
    ['6304000000000000000', '630400******0000'],
    ['４１１１ １１１１ １１１１ １１１１', '411111******1111'],
    ['٤١١١١١١١١١١١١١١١', '411111******1111'],
    ['۴۱۱۱ ۱۱۱۱ ۱۱۱۱ ۱۱۱۱', '411111******1111'],
    ['४१११११११११११११११', '411111******1111'],
    ['𝟜𝟙𝟙𝟙 𝟙𝟙𝟙𝟙 𝟙𝟙𝟙𝟙 𝟙𝟙𝟙𝟙', '411111******1111'],
    ['4111&nbsp;1111&nbsp;1111&nbsp;1111', '411111******1111'],
    ['4111&#160;1111&#xA0;1111&#x2009;1111', '411111******1111'],
    ['&#52;&#49;&#49;&#49;111111111111', '411111******1111'],
  ])('maskCards turns %s into %s, also in a field', (text, masked) => {
    expect(maskCards(text)).toBe(masked);
    expect(redactFields({ text })).toEqual({ text: masked });
  });

  test.each([
    '411111******1111', '4111111111111112', '2026-11-21 12:00:00', '79991234567', '100.05', '', 'A-1', '1 000 000.00',
    '2026-11-21', '+7 (999) 123-45-67', 'A-1, 100.05 RUB', '4111----1111----1111----1111', '4111a1111a1111a1111',
    '00000000-0000-4000-8000-00000000000a', 'f81d4fae-7dec-4111-8111-411111111111', '63040000000', '63040000000000000000',
    '1795865486108', '1857865486100000006', '0000000000000', '000000000000000',
    '41111111-1111-1111-a000-000000000001', '2026-11-21 21:34:56.123453', '2026-11-21T21:34:56.123453',
  ])('%j is not a card number and stays unmasked, also in a field', (text) => {
    expect(maskCards(text)).toBe(text);
    expect(redactFields({ text })).toEqual({ text });
  }); // prettier-ignore

  test.each(['заказ ٧', '４１１１', 'a&nbsp;b &amp; c 100000000000', 'x² + ½'])(
    'maskCards leaves %j as it is written',
    (text) => {
      expect(maskCards(text)).toBe(text);
    },
  );

  // Each would count as a card number if less of it counted as a date.
  test.each([
    '2026-11-21 1006', '2026-11-21 12:04', '2026-11-21 12:00:04', '2026-01-21 12:00:06', 'on 2026-11-21 12:00:04',
    '2026-11-21 12:04 10000000', '2026-11-21 12:00:00.123456 100007',
  ])('maskCards does not take the date in %s for part of a card number', (text) => {
    expect(maskCards(text)).toBe(text);
  }); // prettier-ignore

  test('maskCards leaves every second of a day unmasked, whatever its check digit', () => {
    const changed: string[] = [];
    for (let second = 0; second < 86_400; second += 7) {
      const time = new Date(Date.UTC(2026, 10, 21) + second * 1000).toISOString();
      changed.push(...[time, time.slice(0, 19).replace('T', ' ')].filter((text) => maskCards(text) !== text));
    }
    expect(changed).toEqual([]);
  });
});

describe('redactFields', () => {
  test('redactFields keeps all fields but the digest, also unknown ones', () => {
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

  test('redactFields keeps the last of fields whose names become equal', () => {
    expect(redactFields({ 'a\0': 1, a: 2 })).toEqual({ a: 2 });
  });

  test('redactFields masks card numbers in values, names, numbers and nested fields', () => {
    const card = '4111111111111111';
    const kept = JSON.stringify(
      redactFields({ card, [card]: 'name', n: Number(card), deep: { list: [card, { card }] } }),
    );
    expect(kept).not.toContain(card);
    expect(kept.match(/411111\*{6}1111/g)).toHaveLength(5);
  });

  test.each([
    ['blanks', ' '],
    ['entities', '&#8201;&#x2009;&hyphen;'],
  ])('redactFields masks a card number with %s between its digits where a text is cut', (_name, separator) => {
    const card = '4111111111111111'.replace(/\B/g, separator);
    for (const before of [3_900, 3_981, 3_985, 3_990, 3_999]) {
      const { text } = redactFields({ text: `${'x'.repeat(before)}${card}` }) as { text: string };
      expect(text).toBe(`${'x'.repeat(before)}411111******1111`.slice(0, 4_000));
    }
  });

  test('redactFields masks JSON numbers as long as a card number, even if their last digits are lost', () => {
    const text =
      '{"n":[4111111111111111112,6304000000000000,4111111111111.112,523456789012,1795865486108,100.05,12345678901]}';
    expect(redactFields(JSON.parse(text) as object)).toEqual({
      n: [
        '411111******1000',
        '630400******0000',
        '411111******1112',
        '523456******9012',
        1795865486108,
        100.05,
        12345678901,
      ],
    });
  });

  test('redactFields bounds the depth, width, text length and total size', () => {
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

  test.each([
    ['a text', { a: 'y'.repeat(4_001) }, { a: 'y'.repeat(4_000) }],
    ['a name', { ['n'.repeat(256)]: 1 }, { ['n'.repeat(255)]: 1 }],
    ['a list', { a: Array.from({ length: 65 }, () => 1) }, { a: Array.from({ length: 64 }, () => 1) }],
    ['lists in lists', { a: [[[[1]]]] }, { a: [[[null]]] }],
    ['what is no JSON', { a: [undefined, 1n, redactFields] }, { a: [null, null, null] }],
    ['what no database takes', { 'n\0': 'a\0b', c: '\ud800' }, { n: 'ab', c: '\ufffd' }],
  ])('redactFields bounds %s', (_name, fields, kept) => {
    expect(redactFields(fields)).toEqual(kept);
  });

  describe('fields that are too long as a whole', () => {
    /** Each character takes six in JSON. */
    const escaped = (count: number) => '\u0001'.repeat(count);

    test('fields are too long as a whole beyond 16,384 characters of JSON', () => {
      expect(JSON.stringify({ aaa: escaped(2_729) })).toHaveLength(16_384);
      expect(redactFields({ aaa: escaped(2_729) })).toEqual({ aaa: escaped(2_729) });
      expect(redactFields({ aaaa: escaped(2_729) })).toEqual({ _truncated: true });
    });

    test('of fields that are too long as a whole, short ones are kept and nested ones dropped', () => {
      const short = { text: 'x'.repeat(255), number: 7, yes: true };
      const nested = {
        deep: Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, 'y'.repeat(4_000)])),
        empty: {},
      };
      expect(redactFields(nested)).toEqual({ _truncated: true });
      expect(redactFields({ ...short, ...nested })).toEqual({ ...short, _truncated: true });
      expect(redactFields({ ...short, ...nested, long: 'x'.repeat(256) })).toEqual({ ...short, _truncated: true });
    });

    test('redactFields reads no more than a bounded number of characters and values', () => {
      let read = 0;
      const counted = (value: unknown): unknown => {
        read += typeof value === 'string' ? Math.min(value.length, 4_000) : 1;
        return typeof value === 'object' && value !== null
          ? new Proxy(value, { get: (of, name) => counted(Reflect.get(of, name)) })
          : value;
      };
      const list = (item: unknown) => Array.from({ length: 64 }, () => item);
      const wide = list(list(list(list('4111 '.repeat(1_000)))));
      const short = Object.fromEntries(list('4111 '.repeat(50)).map((text, at) => [`${at}`, text]));
      for (const body of [{ wide }, { a: list(list('4'.repeat(50))) }, { ...short, wide }]) {
        read = 0;
        redactFields(counted(body) as object);
        expect(read).toBeLessThan(16_384 + 4_000);
      }
    });

    test('of fields that are too long as a whole, as many short ones are kept as fit', () => {
      const fields = Object.fromEntries(
        Array.from({ length: 64 }, (_, at) => [`${at}`.padStart(55, '-'), 'x'.repeat(245)]),
      );
      const kept = redactFields(fields);
      expect(Object.keys(kept)).toHaveLength(56);
      expect(kept).toMatchObject({ ...Object.fromEntries(Object.entries(fields).slice(0, 54)), _truncated: true });
    });

    test('fields can be too long as a whole by their number alone', () => {
      const letters = Array.from('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ');
      const fields = Object.fromEntries(letters.map((letter) => [letter, escaped(52)]));
      expect(redactFields(fields)).toEqual({ ...fields, _truncated: true });
    });
  });

  test(`redactFields turns any JSON into bounded JSON that a database accepts (TEST_SEED=${SEED})`, () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), (fields) => {
        const text = JSON.stringify(redactFields(fields));
        expect(text.length).toBeLessThanOrEqual(64 * 600);
        // A backslash of the text itself begins no escape.
        expect(text.replaceAll('\\\\', '')).not.toMatch(/\\u0000|\\ud[89ab]|\\ud[c-f]/i);
      }),
    );
  });

  test('redactFields leaves prototypes alone', () => {
    const fields = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": 1}}}',
    ) as object;
    expect(JSON.stringify(redactFields(fields))).toBe(JSON.stringify(fields));
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
