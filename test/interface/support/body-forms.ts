import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

/** A postback of a bill whose `custom` is `Заказ`. */
export type Fields = Readonly<Record<string, string>>;

/** What becomes of it: stored with all fields as the bill has them; stored with some that differ or are missing; or the status. */
type Outcome = 'as billed' | 'odd' | 400 | 404;

export interface BodyForm {
  readonly name: string;
  /** HTTP as it goes over the wire. */
  readonly request: (fields: Fields) => Buffer;
  readonly outcome: Outcome;
}

interface Sent {
  readonly body: string | Buffer;
  readonly type?: string | undefined;
  readonly headers?: readonly string[];
  readonly line?: string;
  /** Sizes of the chunks; without, the length is announced. */
  readonly chunk?: number;
}

const FORM = 'application/x-www-form-urlencoded';
const JSON_TYPE = 'application/json';
const PATH = '/postback/payment';

function http({ body, type, headers = [], line = `POST ${PATH} HTTP/1.1`, chunk }: Sent): Buffer {
  const content = Buffer.from(body);
  const length = chunk === undefined ? `Content-Length: ${content.length}` : 'Transfer-Encoding: chunked';
  const head = [
    line,
    'Host: shop.example',
    'Connection: close',
    ...(type === undefined ? [] : [`Content-Type: ${type}`]),
  ];
  const start = Buffer.from([...head, length, ...headers, '', ''].join('\r\n'));
  return Buffer.concat([start, chunk === undefined ? content : chunked(content, chunk)]);
}

function chunked(content: Buffer, size: number): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < content.length; at += size) {
    const part = content.subarray(at, at + size);
    parts.push(Buffer.from(`${part.length.toString(16)};x=1\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\nX-Trailer: 1\r\n\r\n')]);
}

const urlEncoded = (fields: Fields) => new URLSearchParams(fields).toString();
const inCharset = (fields: Fields, custom: string) =>
  urlEncoded({ ...fields, custom: 'CUSTOM' }).replace('CUSTOM', custom);
const PERCENT_1251 = '%C7%E0%EA%E0%E7';
const PERCENT_KOI8 = '%FA%C1%CB%C1%DA';
const json1251 = (fields: Fields) =>
  Buffer.concat(
    JSON.stringify({ ...fields, custom: 'CUSTOM' })
      .split('CUSTOM')
      .flatMap((part, index) => [...(index === 0 ? [] : [Buffer.from('C7E0EAE0E7', 'hex')]), Buffer.from(part)]),
  );
const multipart = (fields: Fields, more = '') =>
  Object.entries(fields)
    .map(([name, value]) => `--b-1\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
    .join('') + `${more}--b-1--\r\n`;
const without = (fields: Fields, name: string) =>
  Object.fromEntries(Object.entries(fields).filter(([each]) => each !== name));

const of = (name: string, outcome: Outcome, sent: (fields: Fields) => Sent): BodyForm => ({
  name,
  outcome,
  request: (fields) => http(sent(fields)),
});
const form = (
  name: string,
  outcome: Outcome,
  body: (fields: Fields) => string | Buffer,
  type: string | undefined = FORM,
) => of(name, outcome, (fields) => ({ body: body(fields), type }));
const json = (
  name: string,
  outcome: Outcome,
  body: (fields: Fields) => unknown,
  type: string | undefined = JSON_TYPE,
) => of(name, outcome, (fields) => ({ body: JSON.stringify(body(fields)), type }));
const packed = (name: string, outcome: Outcome, encoding: string, pack: (body: string) => Buffer) =>
  of(name, outcome, (fields) => ({
    body: pack(urlEncoded(fields)),
    type: FORM,
    headers: [`Content-Encoding: ${encoding}`],
  }));

export const BODY_FORMS: readonly BodyForm[] = [
  // Charsets
  form('a form', 'as billed', urlEncoded),
  form('a form in utf-8', 'as billed', urlEncoded, `${FORM}; charset=utf-8`),
  form('a form in "UTF-8"', 'as billed', urlEncoded, `${FORM};charset="UTF-8"`),
  form('a form in utf8', 'as billed', urlEncoded, `${FORM}; charset=utf8`),
  form('a form in us-ascii', 'odd', urlEncoded, `${FORM}; charset=us-ascii`),
  form('a form in iso-8859-1', 'odd', urlEncoded, `${FORM}; charset=iso-8859-1`),
  form(
    'a form in windows-1251',
    'as billed',
    (fields) => inCharset(fields, PERCENT_1251),
    `${FORM}; charset=windows-1251`,
  ),
  form('a form in koi8-r', 'as billed', (fields) => inCharset(fields, PERCENT_KOI8), `${FORM}; charset=koi8-r`),
  form('a form in windows-1251 that says nothing', 'odd', (fields) => inCharset(fields, PERCENT_1251)),
  form('a form in a charset that nobody knows', 'as billed', urlEncoded, `${FORM}; charset=x-none`),
  json('JSON', 'as billed', (fields) => fields),
  json('JSON in utf-8', 'as billed', (fields) => fields, `${JSON_TYPE}; charset=utf-8`),
  json('JSON in utf8', 'as billed', (fields) => fields, `${JSON_TYPE}; charset=utf8`),
  json('JSON in us-ascii', 'odd', (fields) => fields, `${JSON_TYPE}; charset=us-ascii`),
  form('JSON in windows-1251', 'as billed', json1251, `${JSON_TYPE}; charset=windows-1251`),
  form(
    'JSON in utf-16le',
    'as billed',
    (fields) => Buffer.from(JSON.stringify(fields), 'utf16le'),
    `${JSON_TYPE}; charset=utf-16le`,
  ),
  form('JSON after a BOM', 'as billed', (fields) => `\ufeff${JSON.stringify(fields)}`, JSON_TYPE),
  form('a form after a BOM', 'as billed', (fields) => `\ufeff${urlEncoded(fields)}`),
  // Encodings
  packed('a form in gzip', 'as billed', 'gzip', gzipSync),
  packed('a form in GZIP', 'as billed', 'GZIP', gzipSync),
  packed('a form in x-gzip', 'as billed', 'x-gzip', gzipSync),
  packed('a form in deflate', 'as billed', 'deflate', deflateSync),
  packed('a form in br', 'as billed', 'br', brotliCompressSync),
  packed('a form in identity', 'as billed', 'identity', Buffer.from),
  packed('a form in an encoding that nobody knows', 'as billed', 'none', Buffer.from),
  packed('no gzip under its name', 400, 'gzip', Buffer.from),
  packed('gzip that ends early', 400, 'gzip', (body) => gzipSync(body).subarray(0, -12)),
  packed('gzip of a megabyte', 400, 'gzip', (body) => gzipSync(body + '&x=' + 'x'.repeat(1_000_000))),
  // Transfer
  of('a form in chunks', 'as billed', (fields) => ({ body: urlEncoded(fields), type: FORM, chunk: 50 })),
  of('JSON in chunks of one byte', 'as billed', (fields) => ({
    body: JSON.stringify(fields),
    type: JSON_TYPE,
    chunk: 1,
  })),
  of('gzip in chunks', 'as billed', (fields) => ({
    body: gzipSync(urlEncoded(fields)),
    type: FORM,
    chunk: 20,
    headers: ['Content-Encoding: gzip'],
  })),
  of('a form that expects 100-continue', 'as billed', (fields) => ({
    body: urlEncoded(fields),
    type: FORM,
    headers: ['Expect: 100-continue'],
  })),
  of('a form in HTTP/1.0', 'as billed', (fields) => ({
    body: urlEncoded(fields),
    type: FORM,
    line: `POST ${PATH} HTTP/1.0`,
  })),
  of('a form at an address with a slash', 'as billed', (fields) => ({
    body: urlEncoded(fields),
    type: FORM,
    line: `POST ${PATH}/main HTTP/1.1`,
  })),
  of('a form at an address with a query', 'as billed', (fields) => ({
    body: urlEncoded(fields),
    type: FORM,
    line: `POST ${PATH}?a=1 HTTP/1.1`,
  })),
  of('GET', 404, () => ({ body: '', line: `GET ${PATH} HTTP/1.1` })),
  of('HEAD', 404, () => ({ body: '', line: `HEAD ${PATH} HTTP/1.1` })),
  of('PUT', 404, (fields) => ({ body: urlEncoded(fields), type: FORM, line: `PUT ${PATH} HTTP/1.1` })),
  // Types
  form('a form without a type', 'as billed', urlEncoded, ''),
  of('a form with no Content-Type', 'as billed', (fields) => ({ body: urlEncoded(fields) })),
  of('JSON with no Content-Type', 'as billed', (fields) => ({ body: JSON.stringify(fields) })),
  form('a form as text/plain', 'as billed', urlEncoded, 'text/plain'),
  json('JSON as text/plain', 'as billed', (fields) => fields, 'text/plain; charset=utf-8'),
  form('a form as text/html', 'as billed', urlEncoded, 'text/html'),
  form('a form as bytes', 'as billed', urlEncoded, 'application/octet-stream'),
  form('a form as JSON', 'as billed', urlEncoded, JSON_TYPE),
  json('JSON as a form', 'as billed', (fields) => fields, FORM),
  json('JSON as a kind of JSON', 'as billed', (fields) => fields, 'application/problem+json'),
  form('a form of a TYPE in capitals', 'as billed', urlEncoded, FORM.toUpperCase()),
  json('JSON of a type with an open end', 'as billed', (fields) => fields, `${JSON_TYPE};`),
  json('JSON of a type that is none', 'as billed', (fields) => fields, ';;,='),
  form('multipart', 'as billed', multipart, 'multipart/form-data; boundary=b-1'),
  form('multipart with a boundary in quotes', 'as billed', multipart, 'multipart/form-data; boundary="b-1"'),
  form(
    'multipart with a file',
    'as billed',
    (fields) => multipart(fields, '--b-1\r\nContent-Disposition: form-data; name="f"; filename="f.txt"\r\n\r\nx\r\n'),
    'multipart/form-data; boundary=b-1',
  ),
  of('multipart of thousands of files, in gzip', 400, () => ({
    body: gzipSync('--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n\r\n'.repeat(1_500)),
    type: 'multipart/form-data; boundary=x',
    headers: ['Content-Encoding: gzip'],
  })),
  form('multipart without a boundary', 400, multipart, 'multipart/form-data'),
  form(
    'multipart that ends early',
    400,
    (fields) => multipart(fields).slice(0, -40),
    'multipart/form-data; boundary=b-1',
  ),
  // Fields
  form('InvId twice', 'odd', (fields) => `${urlEncoded(fields)}&InvId=2`),
  form('TrsId twice', 400, (fields) => `${urlEncoded(fields)}&TrsId=2`),
  form(
    'a name twice in JSON: the last counts',
    'odd',
    (fields) =>
      JSON.stringify(fields)
        .replace('{', '{"OutSum":"9","OutSum":"1",')
        .replace(/,"OutSum":"100.05"/, ''),
    JSON_TYPE,
  ),
  json('numbers', 'as billed', (fields) => ({ ...fields, OutSum: 100.05, Commission: 0 })),
  json('TrsId as a number', 'odd', (fields) => ({ ...fields, TrsId: 7 })),
  json('InvId as a number', 'odd', (fields) => ({ ...fields, InvId: 7 })),
  json('nulls', 'odd', (fields) => ({ ...fields, InvId: null, Commission: null })),
  json('lists', 'odd', (fields) => ({ ...fields, OutSum: ['100.05'] })),
  json('TrsId as a list', 400, (fields) => ({ ...fields, TrsId: [fields.TrsId] })),
  json('TrsId as an object', 400, (fields) => ({ ...fields, TrsId: { id: fields.TrsId } })),
  json('nested values', 'odd', (fields) => ({ ...fields, custom: { a: [{ b: 1 }] } })),
  form('nested names', 'odd', (fields) => `${urlEncoded(without(fields, 'custom'))}&custom[a][b]=1`),
  form('names in lower case', 400, (fields) => urlEncoded(fields).toLowerCase()),
  json('nothing but TrsId', 'odd', ({ TrsId }) => ({ TrsId })),
  form('no TrsId', 400, (fields) => urlEncoded(without(fields, 'TrsId'))),
  form('names without values, and empty ones', 'as billed', (fields) => `&&a&=&b=&${urlEncoded(fields)}&`),
  form('percent signs that stand for nothing', 'odd', (fields) => inCharset(fields, '%zz%')),
  form('a form with line ends around it', 'as billed', (fields) => `\r\n${urlEncoded(fields)}\r\n`),
  form(
    'JSON with white space around it',
    'as billed',
    (fields) => `\r\n ${JSON.stringify(fields, null, 2)}\n`,
    JSON_TYPE,
  ),
  form('JSON with commas at its end', 400, (fields) => JSON.stringify(fields).replace('}', ',}'), JSON_TYPE),
  json('a list of JSON', 400, (fields) => [fields]),
  json('a text of JSON', 400, (fields) => JSON.stringify(fields)),
  form('nothing', 400, () => ''),
  form('white space', 400, () => ' \r\n', JSON_TYPE),
  form('40 kB more', 'as billed', (fields) => `${urlEncoded(fields)}&x=${'x'.repeat(40_000)}`),
  form('200 kB more', 400, (fields) => `${urlEncoded(fields)}&x=${'x'.repeat(200_000)}`),
  form('2,000 fields', 400, (fields) => `${urlEncoded(fields)}${'&x=1'.repeat(2_000)}`),
];
