import { describe, expect, test } from '@jest/globals';
import { getMetadataStorage } from 'class-validator';
import fc from 'fast-check';
import { PostbackDto, RedirectDto, type CallbackType } from './callback.dto.js';
import { parseBody, readableFields } from './parse-body.js';

const redirect = { InvId: 'A-1', OutSum: '100.05', CurrencyIn: 'RUB' };
const postback = { Status: 'SUCCESS', InvId: 'A-1', OutSum: '100.05', TrsId: 'b-1' };

const fieldsOf = (type: CallbackType, body: unknown): string[] => {
  const parsed = parseBody(type, body);
  return 'errors' in parsed ? parsed.errors.map(({ field }) => field) : [];
};

test.each([undefined, null, 'text', 7, true, [], [postback]])('%j is neither a form nor a JSON object', (body) => {
  expect(parseBody(PostbackDto, body)).toEqual({
    errors: [{ field: 'body', errors: ['must be a form or a JSON object'] }],
  });
});

describe('a postback', () => {
  test('needs nothing: it is a hint, and whoever looks for its bill says what is missing', () => {
    expect(fieldsOf(PostbackDto, {})).toEqual([]);
    expect(fieldsOf(PostbackDto, postback)).toEqual([]);
  });

  test('takes absent, empty and null optional fields as absent', () => {
    const parsed = parseBody(PostbackDto, { ...postback, custom: null, Commission: '', SignatureValue: '' });
    expect(parsed).toEqual({ value: expect.objectContaining(postback) as unknown });
    expect('value' in parsed && [parsed.value.custom, parsed.value.Commission, parsed.value.SignatureValue]).toEqual([
      undefined, undefined, undefined,
    ]); // prettier-ignore
  });

  test('keeps the transmitted text of its amount, and reads a JSON number as its text', () => {
    for (const [OutSum, text] of [['100.00', '100.00'], ['0100.050', '0100.050'], [100.05, '100.05'], [100, '100']]) {
      expect(parseBody(PostbackDto, { ...postback, OutSum })).toMatchObject({ value: { OutSum: text } });
    } // prettier-ignore
  });

  test.each(['100,05', '1 000.00', ' 100.05 ', '+100.05', 'abc', '1e5'])('keeps the OutSum %j as it came', (OutSum) => {
    expect(parseBody(PostbackDto, { ...postback, OutSum })).toMatchObject({ value: { OutSum } });
  });

  test.each([[['b-1', 'b-2']], [{ $ne: '' }], [true], [null], ['']])('takes no bill from the TrsId %j', (TrsId) => {
    const parsed = parseBody(PostbackDto, { ...postback, TrsId });
    expect('value' in parsed && parsed.value.TrsId).toBeUndefined();
  });

  test('takes a custom that the sender has turned back into the JSON it was as its text', () => {
    expect(parseBody(PostbackDto, { ...postback, custom: { cart: 7 } })).toMatchObject({
      value: { custom: '{"cart":7}' },
    });
  });

  describe.each(['InvId', 'OutSum', 'Status', 'custom', 'Commission', 'CurrencyIn', 'SignatureValue'])(
    'takes any form of a %s',
    (field) => {
      test.each([
      ['A'.repeat(90_000), 'A'.repeat(90_000)], [7, '7'], [true, 'true'], [['A'], '["A"]'], [{ a: 1 }, '{"a":1}'],
      [{ length: [[{ toString: '' }]] }, '{"length":[[{"toString":""}]]}'], [8n, '8'],
    ])('as text: %.30p', (value, text) => {
      expect(parseBody(PostbackDto, { ...postback, [field]: value })).toMatchObject({ value: { [field]: text } });
    }); // prettier-ignore

      test('even one that is nested deeper than the stack, of which nothing is read', () => {
        const value = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
        expect(parseBody(PostbackDto, { ...postback, [field]: value })).toMatchObject({
          value: { [field]: '[nested too deeply]' },
        });
      });
    },
  );

  test.each(['constructor', 'then', 'toJSON', 'prototype', 'length'])(
    'takes nothing for what it is named: a field %j inside another is text like any',
    (name) => {
      const custom = { [name]: ' ', a: { [name]: { b: 1 } } };
      expect(parseBody(PostbackDto, { ...postback, custom })).toMatchObject({
        value: { custom: JSON.stringify(custom) },
      });
      expect(parseBody(RedirectDto, { ...redirect, InvId: custom })).toMatchObject({ errors: [{ field: 'InvId' }] });
    },
  );

  test.each([[{ length: [[{ toString: '' }]] }], [{ length: { valueOf: 1, toString: 1 } }], [[[{ toString: '' }]]]])(
    'is no reason to take a redirect with an id that cannot be made into text: %j',
    (value) => {
      for (const field of ['InvId', 'OutSum', 'CurrencyIn']) {
        expect(fieldsOf(RedirectDto, { ...redirect, [field]: value })).toEqual([field]);
      }
    },
  );

  test('is not refused for a Status or a currency that nobody knows', () => {
    expect(fieldsOf(PostbackDto, { ...postback, Status: 'OVERPAID', CurrencyIn: 'XTS' })).toEqual([]);
  });

  test('is not refused for anything that is nested deeper than the stack', () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
    expect(fieldsOf(PostbackDto, { ...postback, TrsId: deep, Unknown: deep })).toEqual([]);
  });

  test('unknown fields are no error and are not looked at', () => {
    const body = JSON.parse(
      `{"__proto__": {"Status": "FAIL"}, "constructor": 1, "toString": 2, "AccountType": "x"}`,
    ) as object;
    const parsed = parseBody(PostbackDto, { ...postback, ...body });
    expect('value' in parsed && Object.keys(parsed.value)).not.toContain('AccountType');
  });

  test('what it inherits is not its own', () => {
    expect(parseBody(PostbackDto, Object.create(postback))).toEqual({ value: new PostbackDto() });
  });
});

describe('a redirect', () => {
  test('needs InvId, OutSum and CurrencyIn', () => {
    expect(fieldsOf(RedirectDto, {}).sort()).toEqual(['CurrencyIn', 'InvId', 'OutSum']);
    expect(fieldsOf(RedirectDto, redirect)).toEqual([]);
  });

  test.each(['USD', 'RUB', 'EUR'])('may be in %s', (CurrencyIn) => {
    expect(fieldsOf(RedirectDto, { ...redirect, CurrencyIn })).toEqual([]);
  });

  test.each(['rub', 'RUBL', 'RU', ['RUB'], { RUB: 1 }])('may not be in %j', (CurrencyIn) => {
    expect(fieldsOf(RedirectDto, { ...redirect, CurrencyIn })).toEqual(['CurrencyIn']);
  });

  test.each([['A'.repeat(1_001)], [['A']], [{ a: 1 }], [true]])(
    'may not have the SignatureValue %.30j',
    (SignatureValue) => {
      expect(fieldsOf(RedirectDto, { ...redirect, SignatureValue })).toEqual(['SignatureValue']);
    },
  );

  test('may not have a custom that is longer than ours can be, nor one nested deeper than the stack', () => {
    expect(fieldsOf(RedirectDto, { ...redirect, custom: 'x'.repeat(4_000) })).toEqual([]);
    expect(fieldsOf(RedirectDto, { ...redirect, custom: 'x'.repeat(4_001) })).toEqual(['custom']);
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
    for (const field of ['custom', 'SignatureValue', 'InvId']) {
      expect(fieldsOf(RedirectDto, { ...redirect, [field]: deep })).toEqual([field]);
    }
  });

  test('an error says what to write', () => {
    expect(parseBody(RedirectDto, { ...redirect, OutSum: '1,5' })).toEqual({
      errors: [{ field: 'OutSum', errors: ['OutSum must be a decimal such as 100.05'] }],
    });
  });
});

test.each([
  ['postback', PostbackDto, postback],
  ['redirect', RedirectDto, redirect],
] as const)(
  'of a %s exactly the fields with a rule are read, and no value of any makes it throw',
  (_name, type, good) => {
    const rules = getMetadataStorage().getTargetValidationMetadatas(type, '', false, false);
    expect(new Set(type.fields)).toEqual(new Set(rules.map(({ propertyName }) => propertyName)));
    const names = fc.constantFrom(...type.fields, 'more', '__proto__', 'constructor');
    fc.assert(
      fc.property(fc.dictionary(names, fc.anything({ maxDepth: 2 }), { maxKeys: 3 }), (changed) => {
        const parsed = parseBody<object>(type, { ...good, ...changed });
        if ('errors' in parsed) return expect(parsed.errors.map(({ field }) => field)).not.toContain('more');
        expect(parsed.value).toBeInstanceOf(type);
        expect(Object.values(parsed.value).every((value) => value === undefined || typeof value === 'string')).toBe(
          true,
        );
      }),
    );
  },
);

describe('a body that is larger than a genuine one', () => {
  const body = { ...postback, custom: { cart: 7 }, note: 'x', InvId: ['A-1'] };

  test('is read as its own fields alone, and nothing nested in them', () => {
    expect(readableFields(PostbackDto, body, 32_769)).toEqual({
      ...postback,
      custom: {},
      InvId: {},
    });
    expect(fieldsOf(RedirectDto, readableFields(RedirectDto, { ...redirect, custom: ['x'] }, Infinity))).toEqual([
      'custom',
    ]);
    expect(readableFields(PostbackDto, body, Infinity)).toEqual(readableFields(PostbackDto, body, 32_769));
    expect(fieldsOf(RedirectDto, readableFields(RedirectDto, { ...redirect, x: 1 }, Infinity))).toEqual([]);
  });

  test('is one of more than 32,768 bytes', () => {
    expect(readableFields(PostbackDto, body, 32_768)).toBe(body);
    expect(readableFields(PostbackDto, body)).toBe(body);
  });

  test.each([undefined, 'text', [postback]])('%j is left to the check of the whole', (whole) => {
    expect(readableFields(PostbackDto, whole, Infinity)).toBe(whole);
  });
});
