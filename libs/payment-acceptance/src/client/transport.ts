import { getAdapter, type AxiosAdapter, type AxiosInstance, type AxiosRequestConfig } from 'axios';
import { randomBytes } from 'node:crypto';
import http, { type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { StringDecoder } from 'node:string_decoder';
import { CreationAgents } from './creation-agents.js';

export interface TransportRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly token: string;
  /** The body of a POST, as a form. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface TransportAnswer {
  readonly status: number;
  readonly text: string;
  /** Whether the text is only the beginning of an answer that is larger than allowed. */
  readonly isCut: boolean;
  readonly retryAfter: string | undefined;
}

/** Why no answer came. `mayHaveLeft` is false only if the request provably never left. */
export class TransportFailure extends Error {
  constructor(
    readonly reason: string,
    readonly mayHaveLeft: boolean,
    readonly aborted: boolean,
  ) {
    super(reason);
  }
}

type Request = (options: RequestOptions, onAnswer: (answer: IncomingMessage) => void) => ClientRequest;

export interface TransportLimits {
  readonly connectTimeoutMs: number;
  readonly totalTimeoutMs: number;
  readonly maxAnswerBytes: number;
}

/**
 * Sends HTTP requests with axios. Follows no redirects, uses no proxy, limits time and size, and knows whether a
 * request may have reached the other side. Throws only `TransportFailure`: axios's own errors carry the bearer token.
 */
export class Transport {
  // `#`: an agent exposes the headers of requests in flight to `util.inspect`.
  readonly #ofReads = { http: new http.Agent({ keepAlive: true }), https: new https.Agent({ keepAlive: true }) };
  readonly #ofCreations: CreationAgents;

  /** @param now a monotonic clock, in milliseconds */
  constructor(
    private readonly axios: AxiosInstance,
    private readonly limits: TransportLimits,
    now: () => number,
  ) {
    this.#ofCreations = new CreationAgents(now);
    // The instance inherits what the host has set for all of axios, such as time limits, credentials and headers.
    for (const name of Object.keys(axios.defaults)) Reflect.deleteProperty(axios.defaults, name);
  }

  async send(request: TransportRequest): Promise<TransportAnswer> {
    if (request.signal?.aborted) throw new TransportFailure('aborted', false, true);
    if (!URL.canParse(request.url)) throw new TransportFailure('ERR_INVALID_URL', false, false);
    const progress = { hasLeft: false, isCut: false };
    const form = request.fields && multipart(request.fields);
    const limit = new RequestLimit(this.limits.totalTimeoutMs, request.signal);
    const agents = request.method === 'GET' ? this.#ofReads : this.#ofCreations;
    const config: AxiosRequestConfig = {
      method: request.method,
      url: request.url,
      data: form?.body,
      headers: { Accept: 'application/json', Authorization: `Bearer ${request.token}`, 'Content-Type': form?.type },
      signal: limit.signal,
      adapter: this.createAdapter(progress),
      httpAgent: agents.http,
      httpsAgent: agents.https,
      proxy: false,
      maxRedirects: 0,
      responseType: 'text',
      validateStatus: null,
      transport: this.createTransport(progress),
    };
    try {
      if (request.method === 'POST') await this.#ofCreations.destroyStale();
      // Assumed until our own `request` function says otherwise; a request that has been aborted by now is not sent.
      progress.hasLeft = !limit.signal.aborted;
      const answer = await this.axios.request<unknown>(config);
      const retryAfter: unknown = answer.headers['retry-after'];
      return {
        status: answer.status,
        text: typeof answer.data === 'string' ? answer.data : '',
        isCut: progress.isCut,
        retryAfter: typeof retryAfter === 'string' ? retryAfter : undefined,
      };
    } catch (error) {
      throw new TransportFailure(
        limit.exceeded ? 'timeout' : reasonOf(error),
        progress.hasLeft,
        request.signal?.aborted === true,
      );
    } finally {
      limit.release();
    }
  }

  close(): void {
    this.#ofCreations.close();
    this.#ofReads.http.destroy();
    this.#ofReads.https.destroy();
  }

  /** axios's own adapter, wrapped to keep the beginning of an answer that is too large. */
  private createAdapter(progress: { isCut: boolean }): AxiosAdapter {
    return async (config) => {
      const answer = await getAdapter('http')({ ...config, responseType: 'stream' });
      const { text, isCut } = await read(answer.data as AsyncIterable<Buffer>, this.limits.maxAnswerBytes);
      progress.isCut = isCut;
      return { ...answer, data: text };
    };
  }

  /** Node's own `request`, watched for the moment from which the other side may have seen something of it. */
  private createTransport(progress: { hasLeft: boolean }): { readonly request: Request } {
    return {
      request: (options, onAnswer) => {
        progress.hasLeft = false;
        const secure = options.protocol === 'https:';
        const request = (secure ? https : http).request(options, onAnswer);
        request.once('socket', (socket) => {
          if (request.reusedSocket && options.method === 'GET') {
            progress.hasLeft = true;
            return;
          }
          // Holds back all writes until the connection is known to be up.
          socket.cork();
          if (request.reusedSocket) {
            process.nextTick(() => writeFirst(socket, progress));
            return;
          }
          const timer = setTimeout(() => {
            request.destroy(Object.assign(new Error('connect timeout'), { code: 'CONNECT_TIMEOUT' }));
          }, this.limits.connectTimeoutMs);
          socket.once(secure ? 'secureConnect' : 'connect', () => {
            writeFirst(socket, progress);
            clearTimeout(timer);
          });
          socket.once('close', () => {
            clearTimeout(timer);
          });
        });
        return request;
      },
    };
  }
}

/**
 * Aborts a request at its timeout or when the caller does. Then releases the caller's signal, which may last as long as
 * the process; `AbortSignal.any` would not release it.
 */
class RequestLimit {
  exceeded = false;
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly onAbort = (): void => this.controller.abort();

  constructor(
    timeoutMs: number,
    private readonly caller: AbortSignal | undefined,
  ) {
    this.timer = setTimeout(() => {
      this.exceeded = true;
      this.controller.abort();
    }, timeoutMs);
    if (caller?.aborted) this.controller.abort();
    caller?.addEventListener('abort', this.onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  release(): void {
    clearTimeout(this.timer);
    this.caller?.removeEventListener('abort', this.onAbort);
  }
}

/**
 * Uncorks an established connection, which sends the request in one write. If the operating system knows that the
 * connection has ended, it refuses the whole write, and nothing has left; over TLS it reports that too late.
 */
function writeFirst(socket: Socket, progress: { hasLeft: boolean }): void {
  if (socket.destroyed) return;
  socket.uncork();
  progress.hasLeft = socket.errored === null;
}

/**
 * `multipart/form-data` (RFC 7578), built as a whole, so that it leaves in one write. Nobody can guess the boundary, so
 * no value contains it; the boundary of Node's own `FormData` has only 36 random bits.
 */
function multipart(fields: Readonly<Record<string, string>>): { body: Buffer; type: string } {
  const boundary = `form-${randomBytes(24).toString('base64url')}`;
  const parts = Object.entries(fields).map(([name, value]) => {
    const lines = value.replace(/\r\n?|\n/g, '\r\n');
    return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${lines}\r\n`;
  });
  return {
    body: Buffer.from(`${parts.join('')}--${boundary}--\r\n`),
    type: `multipart/form-data; boundary=${boundary}`,
  };
}

/** Leaving the loop early ends the stream, and with it the connection. */
async function read(body: AsyncIterable<Buffer>, maxBytes: number): Promise<{ text: string; isCut: boolean }> {
  const decoder = new StringDecoder('utf8');
  let length = 0;
  let text = '';
  for await (const chunk of body) {
    length += chunk.length;
    text += decoder.write(chunk);
    if (length > maxBytes) return { text, isCut: true };
  }
  return { text: text + decoder.end(), isCut: false };
}

/** Only the code: messages may repeat what was sent. */
function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : 'unknown failure';
}
