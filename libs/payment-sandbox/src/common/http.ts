import type { IncomingMessage } from 'node:http';
import { SandboxError } from './errors.js';
import { isFields } from './input.js';

/** A host's body parser may have run first. */
export interface SandboxRequest extends IncomingMessage {
  body?: unknown;
  rawBody?: Buffer;
  originalUrl?: string;
}

/** The raw body, or the result of a host's parser that read it first. */
export type Body = { bytes: Buffer } | { parsed: unknown };

const MAX_BODY_BYTES = 1024 * 1024;

export async function readBody(request: SandboxRequest): Promise<Body> {
  if (request.rawBody) return { bytes: request.rawBody };
  if (request.body !== undefined) return { parsed: request.body };
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      // Reads and discards the rest, so that a client still writing sees the refusal instead of a broken pipe.
      if (size <= MAX_BODY_BYTES) chunks.push(chunk);
    }
  } catch {
    throw new SandboxError(400, 'The body did not arrive completely');
  }
  if (size > MAX_BODY_BYTES) throw new SandboxError(400, 'The body is larger than 1 MiB');
  return { bytes: Buffer.concat(chunks) };
}

/** Reads JSON whatever the Content-Type; `undefined` if there is no body. */
export async function readJson(request: SandboxRequest): Promise<unknown> {
  const body = await readBody(request);
  if ('parsed' in body) return body.parsed;
  const text = body.bytes.toString('utf8');
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new SandboxError(400, 'The body is not valid JSON');
  }
}

export async function readForm(request: SandboxRequest): Promise<URLSearchParams> {
  const body = await readBody(request);
  if ('bytes' in body) return new URLSearchParams(body.bytes.toString('utf8'));
  const fields = isFields(body.parsed) ? body.parsed : {};
  return new URLSearchParams(Object.entries(fields).map(([name, value]): [string, string] => [name, String(value)]));
}

/** The address under which the client knows the sandbox. */
export function ownAddress(request: SandboxRequest): string {
  const named = `http://${request.headers.host ?? ''}`;
  return URL.canParse(named) ? new URL(named).origin : `http://127.0.0.1:${request.socket.localPort}`;
}
