import busboy from 'busboy';
import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { SandboxError } from '../common/errors.js';
import type { Body, SandboxRequest } from '../common/http.js';
import { jsonMembers, jsonText } from '../common/json-text.js';

/** Each name occurs once; parameters that are null are left out. */
export type Parameters = Map<string, string>;

/**
 * Reads the parameters from wherever a client puts them: the query string, or a multipart, form or JSON body of any
 * method. The last of several values wins, and the body beats the query (assumed; only multipart is documented).
 */
export async function readParameters(request: SandboxRequest, body: Body): Promise<Parameters> {
  const url = request.originalUrl ?? request.url ?? '';
  const query = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  return withCustom([...new URLSearchParams(query), ...(await pairsOf(body, request.headers))]);
}

/** Matches `custom[cart][id]` and captures the names in brackets; the name is empty for an element of a list. */
const MEMBER_PATTERN = /^custom((?:\[[^[\]]*\]){1,9})$/;

type Tree = Map<string, string | Tree>;

/** Combines a `custom` that a form spells as several fields, as PHP and axios do, into JSON text (assumed). */
function withCustom(pairs: readonly (readonly [string, string])[]): Parameters {
  const isSpelt = !pairs.some(([name]) => name === 'custom');
  const members: Tree = new Map();
  const others = pairs.filter(([name, value]) => {
    const path = isSpelt ? MEMBER_PATTERN.exec(name)?.[1] : undefined;
    if (path !== undefined) insertIntoTree(members, path.slice(1, -1).split(']['), value);
    return path === undefined;
  });
  const parameters: Parameters = new Map(others);
  return members.size === 0 ? parameters : parameters.set('custom', JSON.stringify(treeToValue(members)));
}

function insertIntoTree(tree: Tree, [name = '', ...rest]: readonly string[], value: string): void {
  const key = name === '' ? String(tree.size) : name;
  if (rest.length === 0) return void tree.set(key, value);
  const existing = tree.get(key);
  const branch: Tree = typeof existing === 'object' ? existing : new Map<string, string | Tree>();
  tree.set(key, branch);
  insertIntoTree(branch, rest, value);
}

/** A list if the members are numbered from 0, as in PHP; otherwise an object. */
function treeToValue(tree: Tree): unknown {
  const members = [...tree].map(([key, value]) => [key, value instanceof Map ? treeToValue(value) : value] as const);
  const isList = members.every(([key], index) => key === String(index));
  return isList ? members.map(([, value]) => value) : Object.fromEntries(members);
}

type Pairs = Iterable<readonly [string, string]>;

async function pairsOf(body: Body, headers: IncomingHttpHeaders): Promise<Pairs> {
  // A host's parser has already read the body.
  if ('parsed' in body) return fromJson(jsonText(body.parsed));
  const { bytes } = body;
  if (bytes.length === 0) return [];
  const { 'content-type': type = '', 'content-encoding': encoding = '' } = headers;
  if (/gzip|deflate|br|zstd/i.test(encoding))
    throw new SandboxError(400, `A body with Content-Encoding ${encoding} is not supported`);
  const lowerType = type.toLowerCase();
  if (lowerType.startsWith('multipart/')) return fromMultipart(bytes, type);
  const text = bytes.toString('utf8').replace(/^\ufeff/, '');
  const looksLikeJson = /^\s*\{/.test(text);
  return lowerType.includes('json') || (looksLikeJson && !lowerType.includes('form'))
    ? fromJson(text)
    : new URLSearchParams(text.trim());
}

function fromMultipart(bytes: Buffer, type: string): Promise<Pairs> {
  return new Promise((resolve, reject) => {
    const refuse = (why = 'cannot be read'): void => reject(new SandboxError(400, `The multipart body ${why}`));
    const pairs: [string, string][] = [];
    try {
      // HTTP allows empty parameters, the parser does not.
      const headers = { 'content-type': type.replace(/;\s*(?=;|$)/g, '') };
      const parser = busboy({ headers, defParamCharset: 'utf8' });
      const keep = (name: string | undefined, value: string | undefined): void => {
        if (value === undefined) refuse('has a part in a charset other than UTF-8, UTF-16LE or ISO-8859-1');
        else if (name) pairs.push([name, value]);
      };
      parser.on('field', keep);
      parser.on('file', (name, file, { filename }: Partial<busboy.FileInfo>) => {
        // The parser reports the error too.
        file.on('error', () => undefined);
        if (filename !== undefined) {
          // Kept under this name so that a refusal can mention the file.
          if (name) keep(`${name} (a file)`, '');
          return file.resume();
        }
        // A field that is sent as bytes, without a file name.
        const chunks: Buffer[] = [];
        file.on('data', (chunk: Buffer) => chunks.push(chunk));
        return file.on('end', () => keep(name, Buffer.concat(chunks).toString('utf8')));
      });
      parser.on('close', () => resolve(pairs));
      parser.on('error', () => refuse());
      Readable.from([bytes]).pipe(parser);
    } catch {
      refuse();
    }
  });
}

/** Numbers keep their transmitted text, and a `custom` that is an object is kept as JSON text. */
function fromJson(text: string): Pairs {
  if (text.trim() === '') return [];
  try {
    return [...new Map(jsonMembers(text))].flatMap(([name, value]): [string, string][] =>
      value === 'null' ? [] : [[name, value.startsWith('"') ? (JSON.parse(value) as string) : value]],
    );
  } catch {
    const form = /^[\w.%[\]-]+=/.test(text) ? ': it is a form, so its Content-Type must say so' : '';
    throw new SandboxError(400, `The body is not valid JSON${form}`);
  }
}
