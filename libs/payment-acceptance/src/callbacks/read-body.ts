import { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';
import zlib from 'node:zlib';

/** The longest body that is read, in bytes; compressed or not. A genuine callback has some hundred. */
const MAX_BYTES = 102_400;
/** The most fields that are read. */
const MAX_FIELDS = 1_000;
/** The same of a multipart form, each of which takes longer. */
const MAX_PARTS = 100;

/** Stands for a body without fields, and says why. */
export class UnreadableBody {
  constructor(readonly problem: string) {}
}

/** How the sender says that a body is written. */
export interface BodyFormat {
  /** `Content-Type` of the request. */
  readonly contentType?: string | undefined;
  /** `Content-Encoding` of the request. */
  readonly contentEncoding?: string | undefined;
}

/**
 * What the stream of a request has, put back where HTTP/1 allows it, so that a middleware of the host's that reads the
 * stream finds it; `undefined` if it ends early.
 */
export function readBytes(
  stream: Readable & { readonly complete?: boolean },
): Promise<Buffer | UnreadableBody | undefined> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const end = (bytes: Buffer | UnreadableBody | undefined): void => {
      stream.off('readable', take).off('end', ended).off('error', cut).off('close', cut);
      if (bytes instanceof UnreadableBody) stream.resume(); // what follows is dropped
      resolve(bytes);
    };
    const take = (): void => {
      while (stream.readableLength > 0) {
        const chunk = stream.read() as Buffer | string;
        chunks.push(typeof chunk === 'string' ? Buffer.from(chunk, stream.readableEncoding ?? 'utf8') : chunk);
        length += chunks.at(-1)?.length ?? 0;
        if (length > MAX_BYTES) return end(new UnreadableBody(TOO_LONG));
      }
      if (!(stream instanceof IncomingMessage))
        stream.read(); // at its end, says so
      else if (stream.complete) {
        const bytes = Buffer.concat(chunks);
        if (length > 0) stream.unshift(stream.readableEncoding ? bytes.toString(stream.readableEncoding) : bytes);
        end(bytes);
      }
    };
    const ended = (): void => end(Buffer.concat(chunks));
    const cut = (): void => end(undefined);
    stream.on('readable', take).on('end', ended).on('error', cut).on('close', cut);
  });
}

const TOO_LONG = `must have at most ${MAX_BYTES.toLocaleString('en')} bytes`;

/**
 * The fields of a body, by what it looks like rather than what it is called: JSON if it begins as an object or a list does,
 * else a form. A field that comes twice is a list. The length is that of the text, in bytes.
 */
export async function parseBytes(
  given: Uint8Array | string,
  { contentType = '', contentEncoding = '' }: BodyFormat,
): Promise<{ readonly fields: unknown; readonly bytes: number }> {
  const sent =
    typeof given === 'string' ? Buffer.from(given) : Buffer.from(given.buffer, given.byteOffset, given.length);
  const unreadable = (problem: string) => ({ fields: new UnreadableBody(problem), bytes: sent.length });
  const expand = typeof given === 'string' ? undefined : EXPANSIONS[contentEncoding.trim().toLowerCase()];
  let content: Buffer;
  try {
    content = expand ? await expand(sent, { maxOutputLength: MAX_BYTES }) : sent;
  } catch {
    return unreadable(`must match its Content-Encoding, and ${TOO_LONG.replace('must ', '')}`);
  }
  const bytes = content.length;
  if (/^\s*multipart\/form-data\b/i.test(contentType)) {
    if (content.toString('latin1').split(/content-disposition/i, MAX_PARTS + 2).length > MAX_PARTS + 1)
      return unreadable(`must have at most ${MAX_PARTS} parts`);
    try {
      // Deprecated for what it keeps in memory, which is no more than a body has here.
      // eslint-disable-next-line @typescript-eslint/no-deprecated
      const form = await new Response(new Uint8Array(content), { headers: { 'content-type': contentType } }).formData();
      return { fields: collected(form), bytes };
    } catch {
      return unreadable('must be a multipart form, as its Content-Type says');
    }
  }
  const decoder = decoderOf(typeof given === 'string' ? '' : contentType);
  const text = decoder.decode(content);
  if (!/^\s*[[{]/.test(text)) return { fields: collected(pairsOf(content, decoder)), bytes };
  try {
    return { fields: JSON.parse(withNumbersAsText(text)) as unknown, bytes };
  } catch {
    return unreadable('must be JSON or a form');
  }
}

/** Strings, closed or not, brackets, and numbers. */
const TOKENS = /"(?:[^"\\]|\\.)*"?|[[\]{}]|-?\d[\d.eE+-]*/gs;
const PLAIN_NUMBER = /^-?\d+(\.\d+)?$/;

/** A field's number that would not be written as it was sent is text: `100.00` would become 100, and a long one lose digits. */
function withNumbersAsText(json: string): string {
  if (!/:\s*-?\d/.test(json)) return json;
  let depth = 0;
  return json.replace(TOKENS, (token) => {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && PLAIN_NUMBER.test(token) && String(Number(token)) !== token) return `"${token}"`;
    return token;
  });
}

type Expansion = (content: Buffer, limit: { readonly maxOutputLength: number }) => Promise<Buffer>;
const gunzip: Expansion = promisify(zlib.gunzip);
const inflate: Expansion = promisify(zlib.inflate);
const brotli: Expansion = promisify(zlib.brotliDecompress);
/** What has no entry is taken as it is. */
const EXPANSIONS: Readonly<Record<string, Expansion | undefined>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: inflate,
  br: brotli,
};

/** By the `charset` of a Content-Type: UTF-8 where there is none, or one that nobody knows. */
function decoderOf(contentType: string): { decode(bytes: Uint8Array): string } {
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType) ?? [];
  try {
    return new TextDecoder(charset);
  } catch {
    return new TextDecoder();
  }
}

function* pairsOf(form: Buffer, decoder: { decode(bytes: Uint8Array): string }): Generator<[string, string]> {
  for (const pair of trimmed(form).toString('latin1').split('&')) {
    if (pair === '') continue;
    const [name = ''] = pair.split('=', 1);
    yield [decoder.decode(unescaped(name)), decoder.decode(unescaped(pair.slice(name.length + 1)))];
  }
}

/**
 * A loop, since a regular expression would take seconds for a body of blanks. Not `trim`, which also removes the byte A0, the
 * last one of some characters in UTF-8.
 */
function trimmed(form: Buffer): Buffer {
  let [start, end] = [0, form.length];
  while (start < end && isBlank(form[start])) start += 1;
  while (start < end && isBlank(form[end - 1])) end -= 1;
  return form.subarray(start, end);
}

/** A tab, a line feed, a carriage return or a space. */
function isBlank(byte: number | undefined): boolean {
  return byte === 0x09 || byte === 0x0a || byte === 0x0d || byte === SPACE;
}

/** Percent signs stand for bytes of the form's charset. A loop, since a body may have nothing else. */
function unescaped(part: string): Uint8Array {
  const bytes = Buffer.from(part, 'latin1');
  let length = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes.readUInt8(at);
    const escape = byte === PERCENT ? 16 * hexAt(bytes, at + 1) + hexAt(bytes, at + 2) : NaN;
    bytes[length] = byte === PLUS ? SPACE : Number.isNaN(escape) ? byte : escape;
    length += 1;
    if (!Number.isNaN(escape)) at += 2;
  }
  return bytes.subarray(0, length);
}

const PERCENT = 0x25;
const PLUS = 0x2b;
const SPACE = 0x20;

/** NaN for what is no digit. */
function hexAt(bytes: Buffer, at: number): number {
  const byte = bytes[at] ?? 0;
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : NaN;
}

function collected(pairs: Iterable<readonly [string, unknown]>): object {
  const lists = new Map<string, string[]>();
  let count = 0;
  for (const [name, value] of pairs) {
    count += 1;
    if (count > MAX_FIELDS) return new UnreadableBody(`must have at most ${MAX_FIELDS.toLocaleString('en')} fields`);
    // A file is no field of the specification.
    if (typeof value !== 'string') continue;
    const list = lists.get(name);
    if (list) list.push(value);
    else lists.set(name, [value]);
  }
  return Object.fromEntries(Array.from(lists, ([name, list]) => [name, list.length === 1 ? list[0] : list]));
}
