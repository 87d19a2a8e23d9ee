import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { postbackFields, redirectFields } from '../support/http.js';
import { ADAPTERS } from '../support/adapters.js';
import { startAttackedShop, TOKENS, type AttackedShop, type Bought } from './support/attacked-shop.js';
import { sendBytes, sendRaw } from './support/sending.js';

const ROUTES = ['/postback/payment', '/redirect/payment/success', '/redirect/payment/fail'] as const;
const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';

/** What is sent, made from fields that the service could have sent. */
interface Shape {
  readonly body: string | Uint8Array;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}
type Attack = readonly [name: string, shape: (fields: Fields) => Shape];
type Fields = Readonly<Record<string, string>>;

const json = (body: unknown): Shape => ({ body: JSON.stringify(body), type: JSON_TYPE });
const text = (body: string, type = JSON_TYPE): Shape => ({ body, type });
const form = (fields: Fields, more = ''): Shape => ({
  body: new URLSearchParams(fields).toString() + more,
  type: FORM_TYPE,
});
const packed = (encoding: string, body: Uint8Array, type = JSON_TYPE): Shape => ({ body, type, headers: { 'content-encoding': encoding } }); // prettier-ignore
const nested = (depth: number, [open, close]: readonly [string, string] = ['[', ']']): string =>
  open.repeat(depth) + '1' + close.repeat(depth);
const set = (name: string, value: unknown) => (fields: Fields) => json({ ...fields, [name]: value });
/** The JSON of the fields with a text before its end. */
const withMore = (fields: Fields, more: string): Shape => text(`${JSON.stringify(fields).slice(0, -1)},${more}}`);
const ROOM = Buffer.alloc(20_000_000, ' ');
const BOMBS = {
  gzip: gzipSync(ROOM),
  deflate: deflateSync(ROOM),
  brotli: brotliCompressSync(ROOM, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  form: gzipSync(Buffer.alloc(ROOM.length, 'a=b&')),
};
const many = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, '1']));

const WRONG_VALUES: readonly (readonly [string, unknown])[] = [
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

/** Bodies that are no callback: refused, by the host's parser or by us. */
const REFUSED: readonly Attack[] = [
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
  ['JSON of another type', (fields) => text(JSON.stringify(fields), 'application/json-patch+json')],
  ['JSON as text', (fields) => text(JSON.stringify(fields), 'text/plain')],
  ['JSON as XML', (fields) => text(JSON.stringify(fields), 'application/xml')],
  ['JSON as bytes', (fields) => text(JSON.stringify(fields), 'application/octet-stream')],
  ['JSON without a type', (fields) => ({ body: JSON.stringify(fields) })],
  ['JSON of a type that is none', (fields) => text(JSON.stringify(fields), ';;,=')],
  ['JSON as a form', (fields) => text(JSON.stringify(fields), FORM_TYPE)],
  ['a form as JSON', (fields) => text(String(form(fields).body))],
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

/** Bodies that a genuine sender could come near to: recorded as a hint, or refused. */
const HINTS: readonly Attack[] = [
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

describe.each(ADAPTERS)('shapes of bodies, on %s', (adapter) => {
  let shop: AttackedShop;
  let bought: Bought;
  let nothingChanged: () => Promise<void>;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
    bought = await shop.buy();
    nothingChanged = await shop.watch();
  });
  afterAll(() => shop.close());

  /** What the service itself could have sent there, digest and all. */
  function genuine(route: string): Fields {
    const fields = { InvId: bought.id, OutSum: '100.05', custom: 'cart' };
    return route.startsWith('/postback')
      ? postbackFields({ ...fields, TrsId: bought.billId }, TOKENS.main)
      : redirectFields(fields, TOKENS.main);
  }

  async function attack(route: string, shape: (fields: Fields) => Shape): Promise<number> {
    const { body, type, headers } = shape(genuine(route));
    const sent = sendBytes(shop.url + route, body, type, headers);
    const answer = await sent.catch(() => undefined);
    // A server that hangs up in the middle of a body has refused it. That it still stands, the next attack shows.
    if (!answer) return 413;
    const said = await answer.text();
    // An answer says what is wrong, and repeats nothing that would make it long or carry a stack.
    expect(said.length).toBeLessThan(5_000);
    expect(said).not.toMatch(/node_modules|\bat .*:\d+:\d+/);
    return answer.status;
  }

  const isRefusal = (status: number): boolean => status >= 400 && status < 500;
  /** What every route answers to the shape. */
  async function answers(shape: (fields: Fields) => Shape): Promise<Record<string, number>> {
    const statuses: Record<string, number> = {};
    for (const route of ROUTES) statuses[route] = await attack(route, shape);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(Object.prototype.toString.call({})).toBe('[object Object]');
    return statuses;
  }
  const wrong = (statuses: Record<string, number>, isRight: (status: number) => boolean) =>
    Object.entries(statuses).filter(([, status]) => !isRight(status));

  describe('that are no callback: refused on every route', () => {
    test.each(REFUSED)('%s', async (_name, shape) => {
      expect(wrong(await answers(shape), isRefusal)).toEqual([]);
    });

    test('of all that nothing is kept', async () => {
      await nothingChanged();
      expect((await shop.ledger()).callbacks).toEqual([]);
    });
  });

  describe('that a genuine sender could come near to: a hint at most', () => {
    test.each(HINTS)('%s', async (_name, shape) => {
      const taken = (status: number): boolean => status === 200 || status === 303;
      expect(wrong(await answers(shape), (status) => taken(status) || isRefusal(status))).toEqual([]);
    });

    test('of all that little is kept, and nothing has changed', async () => {
      await nothingChanged();
      const [kept] = await shop.dataSource.query<{ rows: number; bytes: number }[]>(
        'SELECT count(*)::int AS rows, max(length(fields::text)) AS bytes FROM payment_acceptance.callback',
      );
      expect(kept!.rows).toBeGreaterThan(HINTS.length);
      expect(kept!.bytes).toBeLessThan(20_000);
    });
  });

  test('what is no request at all is answered by the server, or cut off', async () => {
    const host = `Host: ${new URL(shop.url).host}\r\nConnection: close\r\n`;
    const post = `POST /postback/payment HTTP/1.1\r\n${host}`;
    const requests = [
      '\0\0\0\0\r\n\r\n',
      `${post}Content-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${post}Content-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`,
      `${post}Content-Type: application/json\r\nContent-Length: -1\r\n\r\n{}`,
      `${post}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
      `${post}Content-Type: application/json\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
      `${post}X-More: ${'x'.repeat(100_000)}\r\n\r\n`,
      `${post}${'X-More: 1\r\n'.repeat(10_000)}\r\n`,
      `POST /postback/payment/${'x'.repeat(100_000)} HTTP/1.1\r\n${host}\r\n`,
    ];
    for (const request of requests) {
      const answer = await sendRaw(shop.url, request);
      expect(answer === '' || /^HTTP\/1\.[01] 4\d\d /.test(answer) ? 'refused' : answer.slice(0, 200)).toBe('refused');
    }
  });

  test('addresses of shops and tickets that are none', async () => {
    const names = [
      '__proto__', 'constructor', 'toString', 'main%00', 'main%0d%0aSet-Cookie:%20a=b', '..%2f..%2fmain', '%ff', '%',
      'MAIN', 'main%20', '1', '%F0%9F%92%B3', 'x'.repeat(4_000), "main'--", '{}', '*', ':shop',
    ]; // prettier-ignore
    for (const route of ROUTES) {
      for (const name of names) {
        const { body, type } = json(genuine(route));
        const answer = await sendBytes(`${shop.url}${route}/${name}`, body, type);
        expect([name, isRefusal(answer.status), answer.headers.get('set-cookie')]).toEqual([name, true, null]);
      }
    }
    for (const name of names) {
      const answer = await fetch(`${shop.url}/redirect/payment/result/${name}`);
      expect([name, isRefusal(answer.status), answer.headers.get('set-cookie')]).toEqual([name, true, null]);
    }
    await nothingChanged();
  });

  test('the same for an order of the shop, whose bill is made from its JSON', async () => {
    const order = { shop: 'main', amount: '100.05', description: 'Two cups' };
    const orders = [
      ...['shop', 'amount', 'description'].flatMap((field) =>
        WRONG_VALUES.filter(([name]) => name !== 'nothing').map(([, value]) => json({ ...order, [field]: value })),
      ),
      ...[[], [order], null, 'text', 7, { ...order, more: 1 }].map(json),
      ...['__proto__', 'constructor', 'prototype'].map((name) => text(`{"${name}":${JSON.stringify(order)}}`)),
      ...['shop', 'amount', 'description'].map((field) => withMore({ ...order, [field]: '' }, `"${field}":${nested(20_000)}`)),
      withMore(order, `"more":${nested(20_000)}`),
      withMore(order, `"description":"${'x'.repeat(10_000_000)}"`),
      ...['1e2', '1,5', '-1', '0', '0.001', '100000000', '1'.repeat(1_000), ' 1', '1\n', '١'].map((amount) => json({ ...order, amount })),
      ...['\0', '', ' ', 'x'.repeat(201)].map((description) => json({ ...order, description })),
      text(JSON.stringify(order).replace('Two', '\\ud800')),
      packed('gzip', BOMBS.gzip),
    ]; // prettier-ignore
    for (const { body, type, headers } of orders) {
      const { status } = await sendBytes(`${shop.url}/api/orders`, body, type, headers);
      expect([String(body).slice(0, 200), isRefusal(status)]).toEqual([String(body).slice(0, 200), true]);
    }
    await nothingChanged();
  });
});
