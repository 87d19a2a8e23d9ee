import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';

/** One request, as it came over the wire. */
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
  /** Sent as it is. */
  readonly body?: string | Buffer;
}

type Script = ScriptedAnswer | ((request: IncomingMessage, response: ServerResponse) => void);

/** The service as one socket sees it: keeps every request, and answers what a test has written. */
export class Recorder {
  readonly requests: RecordedRequest[] = [];
  url = '';
  private readonly scripted: Script[] = [];
  private last: Script = { status: 500, body: 'no answer is scripted' };
  private readonly server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://recorder');
      const { method = '', headers } = request;
      this.requests.push({ method, path: pathname, query: searchParams, headers, body: Buffer.concat(chunks) });
      const script = this.scripted.shift() ?? this.last;
      if (typeof script === 'function') return script(request, response);
      const type = { 'content-type': 'application/json' };
      response.writeHead(script.status ?? 200, { ...type, ...script.headers }).end(script.body ?? '');
    });
  });

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /** Forgets what came, and answers these in turn; the last one again and again. */
  answer(...scripts: [Script, ...Script[]]): this {
    this.requests.length = 0;
    this.last = scripts.at(-1) ?? this.last;
    this.scripted.splice(0, Infinity, ...scripts.slice(0, -1));
    return this;
  }

  /** The only request that came. */
  get request(): RecordedRequest {
    const [request, ...more] = this.requests;
    if (!request || more.length > 0) throw new Error(`${this.requests.length} requests came, not one.`);
    return request;
  }
}

/** The fields of a multipart form, in order; an independent reading of the body. */
export async function formOf(request: RecordedRequest): Promise<[string, string][]> {
  const headers = { 'content-type': request.headers['content-type'] ?? '' };
  // Deprecated for servers, where a body may be large; a test's is not.
  // eslint-disable-next-line @typescript-eslint/no-deprecated
  const form = await new Response(new Uint8Array(request.body), { headers }).formData();
  return [...form.entries()].map(([name, value]) => [name, typeof value === 'string' ? value : 'a file']);
}
