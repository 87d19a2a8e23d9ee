import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface GivenAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Stands between one instance and the service: requests go through at once, answers wait while it is shut. */
export interface Gate {
  readonly url: string;
  shut(): void;
  /** Resolves when an answer waits. */
  reached(): Promise<void>;
  /** Lets the waiting answers go. */
  open(): void;
  /** From now on lists are those it passed on last, or empty: a replica that lags behind the postbacks. */
  lag(): void;
  catchUp(): void;
  /** From now on what is asked about this bill gets this answer, `undefined` for the service's own again. */
  answer(billId: string, given: GivenAnswer | undefined): void;
  close(): Promise<void>;
}

export async function startGate(target: string): Promise<Gate> {
  let waiting: Promise<void> | undefined;
  let letGo = (): void => undefined;
  let arrived = (): void => undefined;
  let arrival = new Promise<void>((resolve) => (arrived = resolve));
  const lists = new Map<string, string>();
  const given = new Map<string, GivenAnswer>();
  let lagging = false;
  const server: Server = createServer((request, response) => {
    void (async () => {
      const asked = request.url ?? '';
      if (lagging) {
        response.end(lists.get(asked) ?? '{"data":[],"success":true}');
        return;
      }
      const scripted = given.get(new URL(asked, target).searchParams.get('id') ?? '');
      if (scripted) {
        const { status, headers, body } = scripted;
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
        return;
      }
      const { authorization = '', 'content-type': type = '' } = request.headers;
      const { method } = request;
      const sent = method === 'POST' ? await text(request) : undefined;
      const answer = await fetch(target + asked, {
        method,
        headers: { authorization, 'content-type': type },
        body: sent,
      });
      const body = await answer.text();
      lists.set(asked, body);
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
    lag() {
      lagging = true;
    },
    catchUp() {
      lagging = false;
    },
    answer(billId, scripted) {
      if (scripted) given.set(billId, scripted);
      else given.delete(billId);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
