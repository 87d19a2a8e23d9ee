import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Shop } from '../model/entities.js';
import { postbackBody } from './messages.js';

export type PostAnswer =
  | { status: number; body: string; location: string | null; error: null; code: null }
  | { status: null; body: ''; location: null; error: string; code: string | null };

const MAX_KEPT_BYTES = 1024;

/**
 * Uses a connection of its own and follows no redirect. The timeout covers everything, but a status that has arrived
 * counts even if the body does not follow in time.
 */
export function post(
  url: string,
  fields: Record<string, string>,
  format: Shop['postbackFormat'],
  timeoutMs: number,
  closed: AbortSignal,
): Promise<PostAnswer> {
  return new Promise((resolve) => {
    const { type, text } = postbackBody(fields, format);
    const body = Buffer.from(text, 'utf8');
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([timeout, closed]);
    const fail = ({ message, code = null }: Error & { code?: string | null }): void => {
      // If a name has several addresses, their combined error has a code and no message.
      if (timeout.aborted) resolve(noAnswer(`no answer within ${timeoutMs} ms`, 'TIMEOUT'));
      else resolve(noAnswer(message || (code ?? 'the connection failed'), code));
    };
    const headers = {
      'content-type': type,
      'content-length': body.length,
      'user-agent': 'payment-sandbox',
      accept: '*/*',
    };
    try {
      const address = new URL(url);
      const send = address.protocol === 'https:' ? httpsRequest : httpRequest;
      const request = send(address, { method: 'POST', headers, agent: false, signal }, (answer) => {
        request.off('error', fail).on('error', () => undefined);
        void firstBytes(answer).then((first) => resolve(answerOf(answer, first)));
      });
      request.on('error', fail).end(body);
    } catch (error) {
      // Thrown for an address that parses but cannot be requested, such as a user name with a broken escape.
      fail(error as Error);
    }
  });
}

export function noAnswer(error: string, code: string | null = null): PostAnswer {
  return { status: null, body: '', location: null, error, code };
}

function answerOf({ statusCode = 0, headers }: IncomingMessage, body: string): PostAnswer {
  return { status: statusCode, body, location: headers.location ?? null, error: null, code: null };
}

async function firstBytes(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= MAX_KEPT_BYTES) break;
    }
  } catch {
    // Cut off half-way: keep what arrived.
  }
  return Buffer.concat(chunks).subarray(0, MAX_KEPT_BYTES).toString('utf8');
}
