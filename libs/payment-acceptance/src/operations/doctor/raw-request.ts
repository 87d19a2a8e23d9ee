import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { TLSSocket } from 'node:tls';

/** An answer, with details that the module's client does not read. */
export interface RawAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  /** How far the answer's `Date` was ahead of our clock on arrival, in milliseconds; `undefined` without a `Date`. */
  readonly clockAheadMs: number | undefined;
  readonly text: string;
  /** `undefined` over http. */
  readonly tls: { readonly protocol: string | null; readonly validTo: Date } | undefined;
}

const MAX_BYTES = 1024 * 1024;

/**
 * Sends one GET on a new connection. Follows no redirects, uses no proxy, limits time and size.
 * @throws Error with a `code` such as `ECONNREFUSED` or `CERT_HAS_EXPIRED`
 */
export function rawGet(url: string, token: string | undefined, timeoutMs: number): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const headers = { accept: 'application/json', ...(token !== undefined && { authorization: `Bearer ${token}` }) };
    const { get } = url.startsWith('https:') ? https : http;
    const request = get(url, { agent: false, headers, signal: AbortSignal.timeout(timeoutMs) }, (answer) => {
      readAnswer(answer).then(resolve, reject);
    });
    request.on('error', reject);
  });
}

async function readAnswer(answer: IncomingMessage): Promise<RawAnswer> {
  const { socket, headers, statusCode = 0 } = answer;
  const tls =
    socket instanceof TLSSocket
      ? { protocol: socket.getProtocol(), validTo: new Date(socket.getPeerCertificate().valid_to) }
      : undefined;
  const date = Date.parse(headers.date ?? '');
  const clockAheadMs = Number.isNaN(date) ? undefined : date - Date.now();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw Object.assign(new Error('The answer is too large.'), { code: 'TOO_LARGE' });
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  return { status: statusCode, contentType: headers['content-type'], clockAheadMs, text, tls };
}
