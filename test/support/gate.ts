import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands between one instance and the service: requests go through at once, answers wait while it is shut. */
export interface Gate {
  readonly url: string;
  shut(): void;
  /** Resolves when an answer waits. */
  reached(): Promise<void>;
  /** Lets the waiting answers go. */
  open(): void;
  close(): Promise<void>;
}

export async function startGate(target: string): Promise<Gate> {
  let waiting: Promise<void> | undefined;
  let letGo = (): void => undefined;
  let arrived = (): void => undefined;
  let arrival = new Promise<void>((resolve) => (arrived = resolve));
  const server: Server = createServer((request, response) => {
    void (async () => {
      const answer = await fetch(target + (request.url ?? ''), {
        headers: { authorization: request.headers.authorization ?? '' },
      });
      const body = await answer.text();
      if (waiting) arrived();
      await waiting;
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shut() {
      arrival = new Promise<void>((resolve) => (arrived = resolve));
      waiting = new Promise<void>((resolve) => (letGo = resolve));
    },
    reached: () => arrival,
    open() {
      waiting = undefined;
      letGo();
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
