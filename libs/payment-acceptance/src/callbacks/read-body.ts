import { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

/** Longest body that is read, in bytes, before and after decompression. A genuine callback has a few hundred. */
const MAX_BYTES = 102_400;
const MAX_FIELDS = 1_000;
/** A part of a multipart form takes longer to read than another field. */
const MAX_PARTS = 100;

export class UnreadableBody {
  constructor(readonly problem: string) {}
}

export interface BodyFormat {
  readonly contentType?: string | undefined;
  readonly contentEncoding?: string | undefined;
}

/**
 * Puts the bytes back where HTTP/1 allows it, so that the host's middleware can still read them; `undefined` if the
 * stream ends early.
 */
export function readBytes(
  stream: Readable & { readonly complete?: boolean },
): Promise<Buffer | UnreadableBody | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const end = (bytes: Buffer | UnreadableBody | undefined): void => {
      stream.off('readable', take).off('end', ended).off('error', abort).off('close', abort);
      if (bytes instanceof UnreadableBody) stream.resume(); // what follows is dropped
      resolve(bytes);
    };
    const take = (): void => {
      while (stream.readableLength > 0) {
        const chunk = stream.read() as Buffer | string;
        chunks.push(typeof chunk === 'string' ? Buffer.from(chunk, stream.readableEncoding ?? 'utf8') : chunk);
        length += chunks.at(-1)?.length ?? 0;
        if (length > MAX_BYTES) return end(new UnreadableBody(TOO_LONG_MESSAGE));
      }
      if (!(stream instanceof IncomingMessage))
        stream.read(); // makes a stream at its end emit `end`
      else if (stream.complete) {
        const bytes = Buffer.concat(chunks);
        if (length > 0) stream.unshift(stream.readableEncoding ? bytes.toString(stream.readableEncoding) : bytes);
        end(bytes);
      }
    };
    const ended = (): void => end(Buffer.concat(chunks));
    const abort = (): void => end(undefined);
    stream.on('readable', take).on('end', ended).on('error', abort).on('close', abort);
  });
}

const TOO_LONG_MESSAGE = `must have at most ${MAX_BYTES.toLocaleString('en')} bytes`;

/**
 * Unless the body is multipart, its content decides: JSON if it begins like an object or a list, otherwise a form. The
 * value of a field that occurs more than once is a list. `bytes` is the length after decompression.
 */
export async function parseBytes(
  body: Uint8Array | string,
  { contentType = '', contentEncoding = '' }: BodyFormat,
): Promise<{ readonly fields: unknown; readonly bytes: number }> {
  const sent = typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.length);
  const unreadable = (problem: string) => ({ fields: new UnreadableBody(problem), bytes: sent.length });
  const expand = typeof body === 'string' ? undefined : EXPANSIONS[contentEncoding.trim().toLowerCase()];
  let content: Buffer;
  try {
    content = expand ? await expand(sent, { maxOutputLength: MAX_BYTES }) : sent;
  } catch {
    return unreadable(`must match its Content-Encoding, and ${TOO_LONG_MESSAGE.replace('must ', '')}`);
  }
  const bytes = content.length;
  if (/^\s*multipart\/form-data\b/i.test(contentType)) {
    if (content.toString('latin1').split(/content-disposition/i, MAX_PARTS + 2).length > MAX_PARTS + 1)
      return unreadable(`must have at most ${MAX_PARTS} parts`);
    try {
      // Deprecated because it keeps the whole form in memory; here, the size of a body is limited.
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      const form = await new Response(new Uint8Array(content), { headers: { 'content-type': contentType } }).formData();
      return { fields: collectFields(form), bytes };
    } catch {
      return unreadable('must be a multipart form, as its Content-Type says');
    }
  }
  const type = typeof body === 'string' ? '' : contentType;
  const text = decoderOf(type).decode(content);
  if (!/^\s*[[{]/.test(text)) return { fields: collectFields(pairsOf(content, type)), bytes };
  try {
    return { fields: JSON.parse(withNumbersAsText(text)) as unknown, bytes };
  } catch {
    return unreadable('must be JSON or a form');
  }
}

/** Strings, closed or not, brackets, and numbers. */
const TOKEN_PATTERN = /"(?:[^"\\]|\\.)*"?|[[\]{}]|-?\d[\d.eE+-]*/gs;
const PLAIN_NUMBER_PATTERN = /^-?\d+(\.\d+)?$/;

/**
 * Turns the number of a field into text if it would otherwise not be written as it was sent: `100.00` would become 100,
 * and a long number would lose digits.
 */
function withNumbersAsText(json: string): string {
  if (!/:\s*-?\d/.test(json)) return json;
  let depth = 0;
  return json.replace(TOKEN_PATTERN, (token) => {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && PLAIN_NUMBER_PATTERN.test(token) && String(Number(token)) !== token) return `"${token}"`;
    return token;
  });
}

type Expansion = (content: Buffer, limit: { readonly maxOutputLength: number }) => Promise<Buffer>;
const gunzip: Expansion = promisify(zlib.gunzip);
/** A body with any other encoding is read unchanged. */
const EXPANSIONS: Readonly<Record<string, Expansion | undefined>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: promisify(zlib.inflate),
  br: promisify(zlib.brotliDecompress),
};

/** Uses UTF-8 if there is no charset or an unknown one. */
function decoderOf(contentType: string, options = { ignoreBOM: false }): { decode(bytes: Uint8Array): string } {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset, options);
  } catch {
    return new TextDecoder('utf-8', options);
  }
}

function* pairsOf(form: Buffer, contentType: string): Generator<[string, string]> {
  const names = decoderOf(contentType);
  // A value may begin with the character that is a byte order mark elsewhere.
  const values = decoderOf(contentType, { ignoreBOM: true });
  for (const pair of trimmed(form).toString('latin1').split('&')) {
    if (pair === '') continue;
    const [name = ''] = pair.split('=', 1);
    yield [names.decode(percentDecode(name)), values.decode(percentDecode(pair.slice(name.length + 1)))];
  }
}

/**
 * A loop, since a regular expression would take seconds for a body of blanks. Not `trim`, which also removes the byte
 * A0, the last byte of some characters in UTF-8.
 */
function trimmed(form: Buffer): Buffer {
  let [start, end] = [0, form.length];
  while (start < end && isBlank(form[start])) start += 1;
  while (start < end && isBlank(form[end - 1])) end -= 1;
  return form.subarray(start, end);
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x09 || byte === 0x0a || byte === 0x0d || byte === SPACE;
}

/** Decodes to bytes in the form's charset. A loop, since a body may consist of percent signs alone. */
function percentDecode(part: string): Uint8Array {
  const bytes = Buffer.from(part, 'latin1');
  let length = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes.readUInt8(index);
    const escape = byte === PERCENT ? 16 * hexAt(bytes, index + 1) + hexAt(bytes, index + 2) : NaN;
    bytes[length] = byte === PLUS ? SPACE : Number.isNaN(escape) ? byte : escape;
    length += 1;
    if (!Number.isNaN(escape)) index += 2;
  }
  return bytes.subarray(0, length);
}

const PERCENT = 0x25;
const PLUS = 0x2b;
const SPACE = 0x20;

/** NaN if the byte is not a hexadecimal digit. */
function hexAt(bytes: Buffer, index: number): number {
  const byte = bytes[index] ?? 0;
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : NaN;
}

function collectFields(pairs: Iterable<readonly [string, unknown]>): object {
  const lists = new Map<string, string[]>();
  let count = 0;
  for (const [name, value] of pairs) {
    count += 1;
    if (count > MAX_FIELDS) return new UnreadableBody(`must have at most ${MAX_FIELDS.toLocaleString('en')} fields`);
    // The specification has no field that is a file.
    if (typeof value !== 'string') continue;
    const list = lists.get(name);
    if (list) list.push(value);
    else lists.set(name, [value]);
  }
  return Object.fromEntries(Array.from(lists, ([name, list]) => [name, list.length === 1 ? list[0] : list]));
}
