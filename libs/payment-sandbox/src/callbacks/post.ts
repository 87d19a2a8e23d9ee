import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';

/** What came of one POST: the answer's status and first bytes, or why there is none. */
export type PostAnswer = { status: number; body: string; error: null } | { status: null; body: ''; error: string };

const KEPT_BYTES = 1024;

/**
 * One POST on a connection of its own, with no redirect followed. The time limit covers everything; once the status
 * has come it counts, however slowly the rest of the answer drips.
 */
export function post(
  url: string,
  type: string,
  text: string,
  timeoutMs: number,
  closed: AbortSignal,
): Promise<PostAnswer> {
  return new Promise((resolve) => {
    const body = Buffer.from(text, 'utf8');
    const send = url.startsWith('https:') ? httpsRequest : httpRequest;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([timeout, closed]);
    const fail = (error: Error): void => {
      const reason = timeout.aborted ? `no answer within ${timeoutMs} ms` : error.message;
      resolve({ status: null, body: '', error: reason });
    };
    const headers = {
      'content-type': type,
      'content-length': body.length,
      'user-agent': 'payment-sandbox',
      accept: '*/*',
    };
    send(url, { method: 'POST', headers, agent: false, signal }, (answer) => {
      void firstBytes(answer).then((first) => resolve({ status: answer.statusCode ?? 0, body: first, error: null }));
    })
      .on('error', fail)
      .end(body);
  });
}

async function firstBytes(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      size += chunk.length;
      if (size >= KEPT_BYTES) break;
    }
  } catch {
    // Cut off half-way: what came is what is kept.
  }
  return Buffer.concat(chunks).subarray(0, KEPT_BYTES).toString('utf8');
}
