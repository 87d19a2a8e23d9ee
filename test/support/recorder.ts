import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { LocalServer } from './local-server.js';

/** A request as received. */
export interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ScriptedAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent unchanged. */
  readonly body?: string | Buffer;
}

type Script = ScriptedAnswer | ((request: IncomingMessage, response: ServerResponse) => void);

/** A service that records every request and answers as the test says. */
export class Recorder extends LocalServer {
  readonly requests: RecordedRequest[] = [];
  private readonly scripted: Script[] = [];
  private last: Script = { status: 500, body: 'no answer is scripted' };

  protected override receive(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://recorder');
    const { method = '', headers } = request;
    this.requests.push({ method, path: pathname, query: searchParams, headers, body });
    const script = this.scripted.shift() ?? this.last;
    if (typeof script === 'function') return script(request, response);
    const type = { 'content-type': 'application/json' };
    response.writeHead(script.status ?? 200, { ...type, ...script.headers }).end(script.body ?? '');
  }

  /** Clears the recorded requests, and gives these answers in turn, repeating the last one. */
  answer(...scripts: [Script, ...Script[]]): this {
    this.requests.length = 0;
    this.last = scripts.at(-1) ?? this.last;
    this.scripted.splice(0, Infinity, ...scripts.slice(0, -1));
    return this;
  }

  /** The only recorded request. */
  get request(): RecordedRequest {
    const [request, ...more] = this.requests;
    if (!request || more.length > 0) throw new Error(`${this.requests.length} requests came, not one.`);
    return request;
  }
}

/** The fields of a multipart form, in order, read by an independent parser. */
export async function formOf(request: RecordedRequest): Promise<[string, string][]> {
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  // Deprecated because bodies on servers may be large; a test's are not.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const form = await new Response(new Uint8Array(request.body), { headers }).formData();
  return [...form.entries()].map(([name, value]) => [name, typeof value === 'string' ? value : 'a file']);
}
