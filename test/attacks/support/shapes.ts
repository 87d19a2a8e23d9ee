import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** The body to send, made from fields that the service could have sent. */
export interface Shape {
  readonly body: string | Uint8Array;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
type Attack = readonly [name: string, shape: (fields: Fields) => Shape];
export type Fields = Readonly<Record<string, string>>;

export const json = (body: unknown): Shape => ({ body: JSON.stringify(body), type: JSON_TYPE });
export const text = (body: string, type = JSON_TYPE): Shape => ({ body, type });
const form = (fields: Fields, more = ''): Shape => ({
  body: new URLSearchParams(fields).toString() + more,
  type: FORM_TYPE,
});
export const packed = (encoding: string, body: Uint8Array, type = JSON_TYPE): Shape => ({ body, type, headers: { 'content-encoding': encoding } }); // prettier-ignore
export const nested = (depth: number, [open, close]: readonly [string, string] = ['[', ']']): string =>
  open.repeat(depth) + '1' + close.repeat(depth);
const set = (name: string, value: unknown) => (fields: Fields) => json({ ...fields, [name]: value });
/** The JSON of the fields with more text before its closing brace. */
export const withMore = (fields: Fields, more: string): Shape =>
  text(`${JSON.stringify(fields).slice(0, -1)},${more}}`);
const ROOM = Buffer.alloc(20_000_000, ' ');
export const BOMBS = {
  gzip: gzipSync(ROOM),
  deflate: deflateSync(ROOM),
  brotli: brotliCompressSync(ROOM, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  form: gzipSync(Buffer.alloc(ROOM.length, 'a=b&')),
};
const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, '1']));

export const WRONG_VALUES: readonly (readonly [string, unknown])[] = [
  ['a list', ['1']],
  ['a list of lists', [[['1']]]],
  ['a long list', Array(5_000).fill(1)],
  ['an empty list', []],
  ['an object', { a: '1' }],
  ['an object that looks like text', { length: 1, toString: '1', 0: '1' }],
  ['a query of a database', { $gt: '' }],
  ['a flag', true],
  ['nothing', null],
  ['a long text', 'x'.repeat(50_000)],
];
const REQUIRED = ['InvId', 'OutSum'] as const;

/** Bodies that are not a callback: refused, by the host's parser or by us. */
export const REFUSED: readonly Attack[] = [
  ...REQUIRED.flatMap((field) =>
    WRONG_VALUES.map(([name, value]): Attack => [`${name} for ${field}`, set(field, value)]),
  ),
  ['a text for the body', () => json('text')],
  ['a number for the body', () => json(7)],
  ['null for the body', () => json(null)],
  ['a list for the body', (fields) => json([fields, fields])],
  ['an empty body', () => text('')],
  ['white space for the body', () => text('  \r\n ')],
  ['no body and no type', () => ({ body: '' })],
  ['the fields only as a prototype', (fields) => text(`{"__proto__":${JSON.stringify(fields)}}`)],
  ['the fields only as those of a constructor', (fields) => json({ constructor: { prototype: fields } })],
  ['a body too deep for a stack', () => text(nested(45_000))],
  ['objects too deep for a stack', () => text(nested(15_000, ['{"a":', '}']))],
  ['a field too deep for a stack', (fields) => withMore({ ...fields, InvId: '' }, `"InvId":${nested(40_000)}`)],
  ['JSON that breaks off', (fields) => text(JSON.stringify(fields).slice(0, -2))],
  ['JSON with more behind it', (fields) => text(`${JSON.stringify(fields)}{}`)],
  ['JSON with comments', () => text('{/* */"InvId":"1"}')],
  ['JSON with NaN', () => text('{"InvId":NaN}')],
  ['a body of 10 MB', (fields) => withMore(fields, `"more":"${'x'.repeat(10_000_000)}"`)],
  ['a form of 10 MB', (fields) => form(fields, `&more=${'x'.repeat(10_000_000)}`)],
  ['bytes that are no text', () => ({ body: Buffer.from([0xff, 0xfe, 0x80, 0, 0xc0, 0xaf]), type: JSON_TYPE })],
  ['JSON in UTF-16', (fields) => ({ body: Buffer.from(JSON.stringify(fields), 'utf16le'), type: JSON_TYPE })],
  ['a multipart form', () => text('--x\r\nContent-Disposition: form-data; name="InvId"\r\n\r\n1\r\n--x--', 'multipart/form-data; boundary=x')],
  ['lists for fields of a form', () => form({}, 'InvId=1&InvId=2&OutSum=1&OutSum=2')],
  ['indexed fields of a form', () => form({}, 'InvId[0]=1&OutSum[9999999]=2&TrsId[]=3')],
  ['nested fields of a form', () => form({}, 'InvId[a][b]=1&OutSum[toString]=1&TrsId[__proto__][x]=1')],
  ['a form that is nested deeply', () => form({}, `InvId${'[a]'.repeat(10_000)}=1`)],
  ['a form of nothing but separators', () => form({}, '&'.repeat(20_000))],
  ['a form without values', () => form({}, 'InvId&OutSum&TrsId&Status')],
  ['a form of broken escapes', () => form({}, 'InvId=%&OutSum=%zz&TrsId=%ff%fe&Status=%u0041')],
  ['a gzip bomb', () => packed('gzip', BOMBS.gzip)],
  ['a deflate bomb', () => packed('deflate', BOMBS.deflate)],
  ['a Brotli bomb', () => packed('br', BOMBS.brotli)],
  ['a gzip bomb in a gzip bomb', () => packed('gzip, gzip', gzipSync(BOMBS.gzip))],
  ['a gzip bomb for a form', () => packed('gzip', BOMBS.form, FORM_TYPE)],
]; // prettier-ignore

/** What the service itself sends, under another name: taken for what it is. */
export const MISNAMED: readonly Attack[] = [
  ['JSON of another type', (fields) => text(JSON.stringify(fields), 'application/json-patch+json')],
  ['JSON as text', (fields) => text(JSON.stringify(fields), 'text/plain')],
  ['JSON as XML', (fields) => text(JSON.stringify(fields), 'application/xml')],
  ['JSON as bytes', (fields) => text(JSON.stringify(fields), 'application/octet-stream')],
  ['JSON without a type', (fields) => ({ body: JSON.stringify(fields) })],
  ['JSON of a type that is none', (fields) => text(JSON.stringify(fields), ';;,=')],
  ['JSON as a form', (fields) => text(JSON.stringify(fields), FORM_TYPE)],
  ['a form as JSON', (fields) => text(String(form(fields).body))],
];

/** Bodies that resemble a genuine callback: recorded as a hint, or refused. */
export const HINTS: readonly Attack[] = [
  ['10,000 fields', (fields) => json({ ...fields, ...many(10_000) })],
  ['10,000 fields of a form', (fields) => form({ ...fields, ...many(10_000) })],
  ['900 fields of a form', (fields) => form({ ...fields, ...many(900) })],
  ['__proto__ beside the fields', (fields) => withMore(fields, '"__proto__":{"polluted":true,"toString":1}')],
  ['constructor beside the fields', set('constructor', { prototype: { polluted: true } })],
  ['__proto__ in a form', (fields) => form(fields, '&__proto__[polluted]=1&__proto__.polluted=1&constructor[prototype][polluted]=1')],
  ['fields of Object.prototype', (fields) => json({ ...fields, hasOwnProperty: 1, toString: 1, valueOf: 1, toJSON: 1, then: 1 })],
  ['the same fields of a form', (fields) => form({ ...fields, hasOwnProperty: '1', toString: '1', toJSON: '1', then: '1' })],
  ['an unknown field too deep for a stack', (fields) => withMore(fields, `"more":${nested(20_000)}`)],
  ['an unknown field of objects too deep for one', (fields) => withMore(fields, `"more":${nested(10_000, ['{"a":', '}'])}`)],
  ['custom too deep for a stack', (fields) => withMore({ ...fields, custom: '' }, `"custom":${nested(20_000)}`)],
  ['one field with two values', (fields) => text(`{"InvId":"x","TrsId":"x","Status":"FAIL",${JSON.stringify(fields).slice(1)}`)],
  ['the same field two thousand times', (fields) => text(`{${'"InvId":"x",'.repeat(2_000)}${JSON.stringify(fields).slice(1)}`)],
  ['a BOM', (fields) => text(`\ufeff${JSON.stringify(fields)}`)],
  ['a BOM in a form', (fields) => text(`\ufeff${String(form(fields).body)}`, FORM_TYPE)],
  ['bytes that are no UTF-8 in a field', (fields) => ({ body: Buffer.from(JSON.stringify({ ...fields, more: 'é\xff\xc0\xaf' }), 'latin1'), type: JSON_TYPE })],
  ['NUL in each field', (fields) => json(Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, `${value}\0`])))],
  ['half surrogate pairs', (fields) => text(JSON.stringify({ ...fields, more: '@', custom: '@' }).replaceAll('@', '\\ud800'))],
  ['names with NUL and half surrogate pairs', (fields) => withMore(fields, '"\\u0000\\ud800":"1","":"2"')],
  ['numbers without an end', (fields) => withMore(fields, `"more":1e999,"most":${'9'.repeat(40_000)},"least":-0`)],
  ['a list for what decides nothing', set('Commission', ['1', { a: 1 }])],
  ['an object for the signature', set('SignatureValue', { length: 32 })],
  ['JSON, its type written in capitals', (fields) => text(JSON.stringify(fields), 'APPLICATION/JSON; charset=UTF-8')],
  ['JSON in UTF-7', (fields) => text(JSON.stringify(fields), 'application/json; charset=utf-7')],
  ['JSON of a type with a parameter that is none', (fields) => text(JSON.stringify(fields), 'application/json; =')],
  ['gzip that is none', (fields) => packed('gzip', Buffer.from(JSON.stringify(fields)))],
  ['an encoding that nobody knows', (fields) => packed('zip', Buffer.from(JSON.stringify(fields)))],
  ['JSON packed as it may be', (fields) => packed('gzip', gzipSync(JSON.stringify(fields)))],
]; // prettier-ignore
