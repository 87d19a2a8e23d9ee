import {
  AxiosError,
  AxiosHeaders,
  CanceledError,
  getAdapter,
  type AxiosResponse,
  type InternalAxiosRequestConfig,
} from 'axios';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { createBrotliDecompress, createUnzip } from 'node:zlib';
import { StringDecoder } from 'node:string_decoder';
import type { Readable } from 'node:stream';

/** Settings that make axios return the answer unchanged. */
export const asText = [(body: unknown): unknown => body];
export const ofAnyStatus = (): boolean => true;

/** Node's `request`, or a wrapper of it. */
export type Request = (options: RequestOptions, onAnswer: (answer: IncomingMessage) => void) => ClientRequest;

/**
 * An axios adapter for plain GET requests that takes half the CPU time of axios's own, which also supports uploads,
 * redirects, proxies and progress. Requests that a host's interceptor made more than a plain GET go to axios's own
 * adapter.
 */
export function readingAdapter(request: Request): (config: InternalAxiosRequestConfig) => Promise<AxiosResponse> {
  return (config) => (isPlain(config) ? read(config, request) : getAdapter('http')(config));
}

/** Settings that make a request more than a plain GET. */
const NOT_PLAIN = [
  'data',
  'auth',
  'params',
  'baseURL',
  'socketPath',
  'lookup',
  'family',
  'insecureHTTPParser',
  'maxRate',
] as const;

function isPlain(config: InternalAxiosRequestConfig): boolean {
  const { method, timeout, proxy, headers } = config;
  return (
    method?.toUpperCase() === 'GET' &&
    NOT_PLAIN.every((name) => config[name] === undefined || config[name] === null) &&
    !timeout &&
    proxy === false &&
    config.transformResponse === asText &&
    config.validateStatus === ofAnyStatus &&
    !headers.has('accept-encoding')
  );
}

function read(config: InternalAxiosRequestConfig, request: Request): Promise<AxiosResponse> {
  const { url = '', headers, signal, maxContentLength = Infinity } = config;
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const secure = protocol === 'https:';
  return new Promise((resolve, reject) => {
    const fail = (message: string, code: string | undefined): void =>
      reject(
        signal?.aborted ? new CanceledError(undefined, config, sent) : new AxiosError(message, code, config, sent),
      );
    const sent = request(
      {
        protocol,
        // Brackets around an IPv6 address belong to the URL only.
        hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
        port,
        path: pathname + search,
        method: 'GET',
        headers: { 'Accept-Encoding': 'identity', ...headers.toJSON() },
        agent: (secure ? config.httpsAgent : config.httpAgent) as RequestOptions['agent'],
        signal: signal as AbortSignal | undefined,
      },
      (answer) => {
        const body = unpacked(answer);
        const decoder = new StringDecoder('utf8');
        let length = 0;
        let text = '';
        body.on('data', (chunk: Buffer) => {
          length += chunk.length;
          text += decoder.write(chunk);
          if (length <= maxContentLength) return;
          sent.destroy();
          body.destroy();
          fail(`maxContentLength size of ${maxContentLength} exceeded`, AxiosError.ERR_BAD_RESPONSE);
        });
        body.on('error', (error: NodeJS.ErrnoException) => fail(error.message, error.code));
        answer.on('aborted', () => fail('stream has been aborted', AxiosError.ERR_BAD_RESPONSE));
        body.on('end', () => {
          const { statusCode: status = 0, statusMessage: statusText = '' } = answer;
          const answered = new AxiosHeaders(answer.headers as Record<string, string>);
          resolve({ data: text + decoder.end(), status, statusText, headers: answered, config, request: sent });
        });
      },
    );
    sent.on('error', (error: NodeJS.ErrnoException) => fail(error.message, error.code));
    sent.end();
  });
}

/** Compression was not requested, but some servers use it anyway. */
function unpacked(answer: IncomingMessage): Readable {
  const encoding = answer.headers['content-encoding']?.toLowerCase();
  if (encoding === 'gzip' || encoding === 'x-gzip' || encoding === 'deflate') return answer.pipe(createUnzip());
  return encoding === 'br' ? answer.pipe(createBrotliDecompress()) : answer;
}
