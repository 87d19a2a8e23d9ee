import { describe, expect, test } from '@jest/globals';
import { getMetadataStorage } from 'class-validator';
import fc from 'fast-check';
import { PostbackDto, RedirectDto, type CallbackType } from './callback.dto.js';
import { parseBody, readableFields } from './parse-body.js';
import { UnreadableBody } from './read-body.js';

const redirect = { InvId: 'A-1', OutSum: '100.05', CurrencyIn: 'RUB' };
const postback = { Status: 'SUCCESS', InvId: 'A-1', OutSum: '100.05', TrsId: 'b-1' };

const fieldsOf = (type: CallbackType, body: unknown): string[] => {
  const parsed = parseBody(type, body);
  return 'errors' in parsed ? parsed.errors.map(({ field }) => field) : [];
};

test.each([undefined, null, 'text', 7, true, [], [postback]])(
  'a callback body of %j is refused: it is neither a form nor a JSON object',
  (body) => {
    expect(parseBody(PostbackDto, body)).toEqual({
      errors: [{ field: 'body', errors: ['must be a form or a JSON object'] }],
    });
  },
);

test('a callback body that could not be read is refused with its problem', () => {
  expect(parseBody(PostbackDto, new UnreadableBody('has too many fields'))).toEqual({
    errors: [{ field: 'body', errors: ['body has too many fields'] }],
  });
});

describe('a postback', () => {
  test('a postback without any fields is accepted, since it is only a hint', () => {
    expect(fieldsOf(PostbackDto, {})).toEqual([]);
    expect(fieldsOf(PostbackDto, postback)).toEqual([]);
  });

  test('absent, empty and null optional fields of a postback are read as absent', () => {
    const parsed = parseBody(PostbackDto, { ...postback, custom: null, Commission: '', SignatureValue: '' });
    expect(parsed).toEqual({ value: expect.objectContaining(postback) as unknown });
    expect('value' in parsed && [parsed.value.custom, parsed.value.Commission, parsed.value.SignatureValue]).toEqual([
      undefined, undefined, undefined,
    ]); // prettier-ignore
  });

  test('the amount of a postback keeps its transmitted text, also if it is a JSON number', () => {
    for (const [OutSum, text] of [['100.00', '100.00'], ['0100.050', '0100.050'], [100.05, '100.05'], [100, '100']]) {
      expect(parseBody(PostbackDto, { ...postback, OutSum })).toMatchObject({ value: { OutSum: text } });
    } // prettier-ignore
  });

  test.each(['100,05', '1 000.00', ' 100.05 ', '+100.05', 'abc', '1e5'])(
    'a postback keeps the OutSum %j as sent',
    (OutSum) => {
      expect(parseBody(PostbackDto, { ...postback, OutSum })).toMatchObject({ value: { OutSum } });
    },
  );

  test.each([[['b-1', 'b-2']], [{ $ne: '' }], [true], [null], ['']])(
    'a postback with the TrsId %j names no bill',
    (TrsId) => {
      const parsed = parseBody(PostbackDto, { ...postback, TrsId });
      expect('value' in parsed && parsed.value.TrsId).toBeUndefined();
    },
  );

  test('a custom that the sender has parsed into JSON is turned back into text', () => {
    expect(parseBody(PostbackDto, { ...postback, custom: { cart: 7 } })).toMatchObject({
      value: { custom: '{"cart":7}' },
    });
  });

  describe.each(['InvId', 'OutSum', 'Status', 'custom', 'Commission', 'CurrencyIn', 'SignatureValue'])(
    'a postback whose %s has any type',
    (field) => {
      test.each([
      ['A'.repeat(90_000), 'A'.repeat(90_000)], [7, '7'], [true, 'true'], [['A'], '["A"]'], [{ a: 1 }, '{"a":1}'],
      [{ length: [[{ toString: '' }]] }, '{"length":[[{"toString":""}]]}'], [8n, '8'],
    ])('a postback field of any type is read as text: %.30p', (value, text) => {
      expect(parseBody(PostbackDto, { ...postback, [field]: value })).toMatchObject({ value: { [field]: text } });
    }); // prettier-ignore

      test('a postback field nested deeper than the stack is replaced by a marker and not read', () => {
        const value = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
        expect(parseBody(PostbackDto, { ...postback, [field]: value })).toMatchObject({
          value: { [field]: '[nested too deeply]' },
        });
      });
    },
  );

  test.each(['constructor', 'then', 'toJSON', 'prototype', 'length'])(
    'a nested field named %j is text like any other and has no special effect',
    (name) => {
      const custom = { [name]: ' ', a: { [name]: { b: 1 } } };
      expect(parseBody(PostbackDto, { ...postback, custom })).toMatchObject({
        value: { custom: JSON.stringify(custom) },
      });
      expect(parseBody(RedirectDto, { ...redirect, InvId: custom })).toMatchObject({ errors: [{ field: 'InvId' }] });
    },
  );

  test.each([[{ length: [[{ toString: '' }]] }], [{ length: { valueOf: 1, toString: 1 } }], [[[{ toString: '' }]]]])(
    'a redirect is refused if a required field cannot be converted to text: %j',
    (value) => {
      for (const field of ['InvId', 'OutSum', 'CurrencyIn']) {
        expect(fieldsOf(RedirectDto, { ...redirect, [field]: value })).toEqual([field]);
      }
    },
  );

  test('a postback with an unknown Status or currency is accepted', () => {
    expect(fieldsOf(PostbackDto, { ...postback, Status: 'OVERPAID', CurrencyIn: 'XTS' })).toEqual([]);
  });

  test('a postback with fields nested deeper than the stack is accepted', () => {
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
    expect(fieldsOf(PostbackDto, { ...postback, TrsId: deep, Unknown: deep })).toEqual([]);
  });

  test('unknown fields of a postback are neither an error nor read', () => {
    const body = JSON.parse(
      `{"__proto__": {"Status": "FAIL"}, "constructor": 1, "toString": 2, "AccountType": "x"}`,
    ) as object;
    const parsed = parseBody(PostbackDto, { ...postback, ...body });
    expect('value' in parsed && Object.keys(parsed.value)).not.toContain('AccountType');
  });

  test('inherited properties of a body are not read as fields', () => {
    expect(parseBody(PostbackDto, Object.create(postback))).toEqual({ value: new PostbackDto() });
  });
});

describe('a redirect', () => {
  test('a redirect needs InvId, OutSum and CurrencyIn', () => {
    expect(fieldsOf(RedirectDto, {}).sort()).toEqual(['CurrencyIn', 'InvId', 'OutSum']);
    expect(fieldsOf(RedirectDto, redirect)).toEqual([]);
  });

  test.each(['USD', 'RUB', 'EUR'])('a redirect with the CurrencyIn %s is accepted', (CurrencyIn) => {
    expect(fieldsOf(RedirectDto, { ...redirect, CurrencyIn })).toEqual([]);
  });

  test.each(['rub', 'RUBL', 'RU', ['RUB'], { RUB: 1 }])(
    'a redirect with the CurrencyIn %j is refused',
    (CurrencyIn) => {
      expect(fieldsOf(RedirectDto, { ...redirect, CurrencyIn })).toEqual(['CurrencyIn']);
    },
  );

  test.each([['A'.repeat(1_001)], [['A']], [{ a: 1 }], [true]])(
    'a redirect with the SignatureValue %.30j is refused',
    (SignatureValue) => {
      expect(fieldsOf(RedirectDto, { ...redirect, SignatureValue })).toEqual(['SignatureValue']);
    },
  );

  test('a redirect with an overlong custom or a field nested deeper than the stack is refused', () => {
    expect(fieldsOf(RedirectDto, { ...redirect, custom: 'x'.repeat(4_000) })).toEqual([]);
    expect(fieldsOf(RedirectDto, { ...redirect, custom: 'x'.repeat(4_001) })).toEqual(['custom']);
    const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) as unknown;
    for (const field of ['custom', 'SignatureValue', 'InvId']) {
      expect(parseBody(RedirectDto, { ...redirect, [field]: deep })).toEqual({
        errors: [{ field, errors: [`${field} is nested too deeply`] }],
      });
    }
  });

  test('the error for a bad OutSum says what to write', () => {
    expect(parseBody(RedirectDto, { ...redirect, OutSum: '1,5' })).toEqual({
      errors: [{ field: 'OutSum', errors: ['OutSum must be a decimal such as 100.05'] }],
    });
  });
});

test.each([
  ['postback', PostbackDto, postback],
  ['redirect', RedirectDto, redirect],
] as const)(
  'of a %s exactly the fields with a rule are read, and no value of theirs makes parsing throw',
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

describe('a body larger than a genuine one', () => {
  const body = { ...postback, custom: { cart: 7 }, note: 'x', InvId: ['A-1'] };

  test('only the flat fields of the specification are read from an oversized callback body', () => {
    expect(readableFields(PostbackDto, body, 32_769)).toStrictEqual({
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

  test('a callback body is oversized beyond 32,768 bytes', () => {
    expect(readableFields(PostbackDto, body, 32_768)).toBe(body);
    expect(readableFields(PostbackDto, body)).toBe(body);
  });

  test.each([undefined, 'text', [postback]])(
    'readableFields leaves %j to the validation of the whole body',
    (whole) => {
      expect(readableFields(PostbackDto, whole, Infinity)).toBe(whole);
    },
  );
});
