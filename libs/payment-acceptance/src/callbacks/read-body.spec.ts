import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SEED } from '../../../../test/support/seed.js';
import { parseBytes, UnreadableBody } from './read-body.js';

const fieldsOf = async (body: Uint8Array | string, contentType?: string) =>
  (await parseBytes(body, { contentType })).fields;

describe('a body', () => {
  test(`a form body is read as URLSearchParams reads it (seed ${SEED})`, async () => {
    const names = fc.string({ unit: 'binary', minLength: 1 }).filter((name) => !/^[\s[{]/.test(name));
    const pairs = fc.dictionary(names, fc.string({ unit: 'binary' }), { minKeys: 1 });
    await fc.assert(
      fc.asyncProperty(pairs, async (fields) => {
        const form = new URLSearchParams(fields);
        expect(await fieldsOf(form.toString())).toEqual(Object.fromEntries(form));
      }),
      { seed: SEED },
    );
  });

  test(`a body of any bytes and any content type is read or refused without an exception (seed ${SEED})`, async () => {
    const types = fc.constantFrom(
      '',
      'application/json',
      'multipart/form-data; boundary=x',
      'text/plain; charset=utf-16',
    );
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), types, async (bytes, type) => {
        expect(typeof (await fieldsOf(bytes, type))).toBe('object');
      }),
      { seed: SEED },
    );
  });

  test.each([
    ['a=%', { a: '%' }],
    ['a=%4', { a: '%4' }],
    ['a=%zz%41', { a: '%zzA' }],
    ['a=1+2%2B', { a: '1 2+' }],
    [
      '__proto__=1&a=2',
      Object.fromEntries([
        ['__proto__', '1'],
        ['a', '2'],
      ]),
    ],
    ['a=1&a=2&a=', { a: ['1', '2', ''] }],
  ])('the form body %s is decoded into its fields', async (body, fields) => {
    expect(await fieldsOf(body)).toEqual(fields);
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });
});

test('a byte order mark is dropped at the start of a form body and kept inside its values', async () => {
  expect(await fieldsOf('\ufeffInvId=\ufeffA-1&OutSum=%EF%BB%BF1.00')).toEqual({
    InvId: '\ufeffA-1',
    OutSum: '\ufeff1.00',
  });
});

test('a form body loses its trailing line break, but not a last character whose bytes end in A0', async () => {
  const { fields } = await parseBytes(Buffer.from('InvId=A-1&custom=ЗАКАЗ-Р\r\n'), {});
  expect(fields).toEqual({ InvId: 'A-1', custom: 'ЗАКАЗ-Р' });
});

test.each([
  ['{"OutSum": 100.00, "TrsId": 12345678901234567890}', { OutSum: '100.00', TrsId: '12345678901234567890' }],
  [
    '{"OutSum":-1,"custom":{"a":1.50,"b":[2.0]},"Status":"1: 2"}',
    { OutSum: -1, custom: { a: 1.5, b: [2] }, Status: '1: 2' },
  ],
  ['{"OutSum": 1e+06, "custom": "\\": 5, {", "InvId": 7}', { OutSum: 1e6, custom: '": 5, {', InvId: 7 }],
])('a number of a JSON body keeps its text: %s', async (body, fields) => {
  expect(await fieldsOf(body)).toEqual(fields);
});

test('a form with a long run of blanks is read in linear time, and only the blanks around it are trimmed', async () => {
  const blanks = ' '.repeat(100_000);
  const before = performance.now();
  expect(await fieldsOf(`\t a=1${blanks}b \r\n`)).toEqual({ a: `1${blanks}b` });
  // A regular expression took half a minute, all of it without a pause.
  expect(performance.now() - before).toBeLessThan(2_000);
});

test('an unterminated JSON string is refused in linear time', async () => {
  expect(await fieldsOf(`{"a": 1, "b": "${'\\"'.repeat(45_000)}`)).toBeInstanceOf(UnreadableBody);
});
