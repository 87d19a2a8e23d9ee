import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Changes the JSON text of a list of payments. */
export type Lie = (list: string, billId: string) => string;

/** A proxy between the shop and the service that can change lists of payments. */
export interface LyingService {
  readonly url: string;
  lie: Lie;
  close(): Promise<void>;
}

export const honest: Lie = (list) => list;

export async function startLyingService(target: string): Promise<LyingService> {
  const service: { url: string; lie: Lie } = { url: '', lie: honest };
  async function passOn(request: IncomingMessage): Promise<{ status: number; body: string }> {
    const url = new URL(target + (request.url ?? ''));
    const { authorization = '', 'content-type': type } = request.headers;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = await fetch(url, {
      method: request.method ?? 'GET',
      headers: { authorization, ...(type !== undefined && { 'content-type': type }) },
      ...(request.method === 'POST' && { body: new Uint8Array(Buffer.concat(chunks)) }),
    });
    const body = await answer.text();
    const lists = url.pathname.endsWith('/bill/payments');
    return { status: answer.status, body: lists ? service.lie(body, url.searchParams.get('id') ?? '') : body };
  }
  const server = createServer((request, response) => {
    passOn(request).then(
      ({ status, body }) => response.writeHead(status, { 'content-type': 'application/json' }).end(body),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(service, {
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
