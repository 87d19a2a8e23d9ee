import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import http, { type Server, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { inspect } from 'node:util';
import { certificate } from '../../../../test/support/certificate.js';
import { closing } from '../../../../test/support/closing.js';
import { until } from '../../../../test/support/until.js';
import { HttpCreationAgent, HttpsCreationAgent } from './creation-agents.js';
import { OpenedAhead } from './opened-ahead.js';

/** A connection as the server has it. */
interface Connection {
  readonly socket: Socket;
  requests: number;
}

const tls = certificate();
const LIFE_MS = 2_000;

/** One turn of the event loop, for pending work on both sides. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const seen = (what: () => boolean): Promise<boolean> =>
  until(
    () => turn().then(what),
    (is) => is,
  );

/** Every opened connection, used or not. */
let opened: Socket[] = [];

class WatchedOpenedAhead extends OpenedAhead {
  override connect(...[name, { begin, upAt }, use]: Parameters<OpenedAhead['connect']>): Socket | undefined {
    const watched = (): Socket => {
      const socket = begin();
      opened.push(socket);
      return socket;
    };
    return super.connect(name, { begin: watched, upAt }, use);
  }
}

describe('opened ahead', () => {
  const close = closing();

  describe.each(['http', 'https'] as const)('%s', (protocol) => {
    let server: Server;
    let connections: Connection[];
    /** Answers that a test holds back. */
    let held: ServerResponse[] | undefined;
    let status: number;
    let now: number;
    let ahead: OpenedAhead;
    let agent: http.Agent;

    const unused = (): Connection[] =>
      connections.filter(({ requests, socket }) => requests === 0 && !socket.destroyed);

    function use(maxAgeMs: number): void {
      ahead = new WatchedOpenedAhead(maxAgeMs, () => now);
      agent = protocol === 'http' ? new HttpCreationAgent(ahead) : new HttpsCreationAgent(ahead, { ca: tls.cert });
    }

    /** Sends one request, noted as the transport notes it; returns the status of its answer. */
    function create(): Promise<number> {
      const { port } = server.address() as AddressInfo;
      const answer = new Promise<number>((resolve, reject) => {
        const headers = { authorization: 'Bearer a-secret' };
        const options = { host: '127.0.0.1', port, method: 'POST', agent, headers };
        const request = (protocol === 'http' ? http : https).request(options, (answer) => {
          answer.resume().once('close', () => {
            if (answer.statusCode === 200) ahead.noteSuccess(answer.socket);
            resolve(answer.statusCode ?? 0);
          });
        });
        request.once('socket', (socket) => request.once('error', () => ahead.noteFailure(socket)));
        request.once('error', reject).end('a bill');
      });
      // A failing test may never await it.
      answer.catch(() => undefined);
      return answer;
    }

    /** Makes that many concurrent creations, after which as many connections are ready on both sides. */
    async function ready(count: number): Promise<Connection[]> {
      await Promise.all(Array.from({ length: count }, create));
      await seen(() => unused().length === count && ahead.size === count);
      return unused();
    }

    beforeEach(async () => {
      connections = [];
      opened = [];
      held = undefined;
      status = 200;
      now = 1_000_000;
      const answer: http.RequestListener = (request, response) => {
        for (const each of connections) if (each.socket === request.socket) each.requests += 1;
        request.resume().once('end', () => {
          response.statusCode = status;
          if (held) held.push(response);
          else response.end('{}');
        });
      };
      server = protocol === 'http' ? http.createServer(answer) : https.createServer(tls, answer);
      server.on(protocol === 'http' ? 'connection' : 'secureConnection', (socket: Socket) => {
        connections.push({ socket: socket.on('error', () => undefined), requests: 0 });
      });
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      close(() => {
        server.closeAllConnections();
        for (const { socket } of connections) socket.destroy();
        return new Promise((resolve) => server.close(resolve));
      });
      use(LIFE_MS);
      close(() => ahead.close());
    });

    afterEach(() => {
      // In no case did a connection carry two requests.
      expect(connections.filter(({ requests }) => requests > 1)).toEqual([]);
    });

    test('none before a creation has succeeded; then as many as the last second needed', async () => {
      held = [];
      const first = create();
      await seen(() => held?.length === 1);
      expect([ahead.size, connections.length]).toEqual([0, 1]);
      held[0]?.end('{}');
      held = undefined;
      await first;
      await seen(() => unused().length === 1);
      await Promise.all(Array.from({ length: 4 }, create));
      await seen(() => unused().length === 5);
      now += 1_000;
      await create();
      await turn();
      // Only this one was needed lately; four of those opened earlier are left.
      expect([ahead.size, unused().length]).toEqual([4, 4]);
    });

    test('a creation takes one that was open before and never used, the oldest first, and another one is opened', async () => {
      const [oldest, next] = await ready(2);
      await create();
      expect([oldest?.requests, next?.requests]).toEqual([1, 0]);
      await seen(() => unused().length === 3);
      expect(ahead.size).toBe(3);
    });

    test('each is given once: of two creations at once one opens its own', async () => {
      const [only] = await ready(1);
      const before = connections.length;
      held = [];
      const both = [create(), create()];
      await seen(() => held?.length === 2);
      expect(only?.requests).toBe(1);
      for (const response of held) response.end('{}');
      await Promise.all(both);
      expect(connections.slice(before).some(({ requests }) => requests === 1)).toBe(true);
    });

    test('at most 32 for an address, however many creations there were', async () => {
      await Promise.all(Array.from({ length: 40 }, create));
      await seen(() => unused().length === 32);
      expect(ahead.size).toBe(32);
    });

    test('one that is too old by the clock is not used, although its timer is late', async () => {
      const [old] = await ready(1);
      now += LIFE_MS + 1;
      expect(await create()).toBe(200);
      expect(old?.requests).toBe(0);
      await seen(() => old?.socket.destroyed === true);
    });

    test('nor one of which the clock, set back, does not say how old it is', async () => {
      const [old] = await ready(1);
      now -= 1;
      expect(await create()).toBe(200);
      expect(old?.requests).toBe(0);
    });

    test('an unused one is closed at its age, and nothing is opened for it: an idle instance holds none', async () => {
      ahead.close();
      use(40);
      const waiting = await ready(2);
      const count = connections.length;
      await Promise.all(waiting.map(({ socket }) => seen(() => socket.destroyed)));
      expect([ahead.size, connections.length]).toEqual([0, count]);
    });

    test('it holds no process: neither its socket nor its timer counts', async () => {
      const keeping = (): number =>
        process.getActiveResourcesInfo().filter((name) => ['TCPSocketWrap', 'TLSWrap'].includes(name)).length;
      const waiting = await ready(3);
      for (const { socket } of waiting) socket.unref();
      const others = keeping();
      ahead.close();
      expect(keeping()).toBe(others);
    });

    test.each<[string, (socket: Socket) => void]>([
      ['sends something', (socket) => socket.write('HTTP/1.1 408 Request Timeout\r\n\r\n')],
      ['closes it', (socket) => socket.end()],
      ['resets it', (socket) => (protocol === 'http' ? socket.resetAndDestroy() : socket.destroy())],
    ])(
      'where the server %s, it and all others are dropped, and none is opened until a creation succeeds',
      async (_, act) => {
        const waiting = await ready(3);
        act(waiting[1]!.socket);
        await seen(() => waiting.every(({ socket }) => socket.destroyed || socket.readableEnded));
        expect(ahead.size).toBe(0);
        const before = connections.length;
        status = 503;
        expect(await create()).toBe(503);
        await turn();
        expect([ahead.size, connections.length]).toEqual([0, before + 1]);
        status = 200;
        await create();
        await seen(() => ahead.size > 0);
      },
    );

    test('an end that has reached the machine, and that nobody has heard of yet, is heard before one is used', async () => {
      const waiting = await ready(3);
      // The server runs in this process, so the client has had no chance to read.
      for (const { socket } of waiting) {
        if (protocol === 'http') socket.resetAndDestroy();
        else socket.destroy();
      }
      expect(await create()).toBe(200);
      expect(waiting.map(({ requests }) => requests)).toEqual([0, 0, 0]);
    });

    test('an opening that fails is nobody’s error, and the only one until a creation has succeeded', async () => {
      await ready(1);
      now += 1_000;
      server.prependListener('connection', (socket: Socket) => void socket.destroy());
      held = [];
      let attempts = 0;
      server.on('connection', () => (attempts += 1));
      const creating = create();
      await seen(() => held?.length === 1 && attempts === 1 && ahead.size === 0);
      // These two open their own connections, which fail; no others are opened.
      const ends = await Promise.allSettled([create(), create()]);
      expect(ends.map((end) => end.status)).toEqual(['rejected', 'rejected']);
      expect([attempts, ahead.size]).toEqual([3, 0]);
      held[0]?.end('{}');
      expect(await creating).toBe(200);
    });

    test('a creation that fails drops those that stand ready: they lead to the same server', async () => {
      const waiting = await ready(3);
      held = [];
      const creating = create();
      await seen(() => held?.length === 1);
      for (const { socket, requests } of connections) if (requests === 1 && !socket.destroyed) socket.destroy();
      await expect(creating).rejects.toThrow();
      expect(ahead.size).toBe(0);
      await seen(() => waiting.every(({ socket }) => socket.destroyed));
    });

    test('closed with the application; a creation that is late opens its own', async () => {
      const waiting = await ready(3);
      ahead.close();
      await seen(() => waiting.every(({ socket }) => socket.destroyed));
      expect(await create()).toBe(200);
      await turn();
      expect([ahead.size, unused()]).toEqual([0, []]);
    });

    test('0 ms: each creation opens its own', async () => {
      use(0);
      await create();
      await create();
      await turn();
      expect([ahead.size, connections.length]).toEqual([0, 2]);
    });

    test('what is kept for further connections has nothing of the request that came first', async () => {
      await ready(1);
      // Node keeps the options with a TLS connection.
      const keptBy = (socket: Socket): unknown[] =>
        Object.getOwnPropertySymbols(socket).map((key): unknown => Reflect.get(socket, key));
      expect(inspect(opened.map(keptBy), { depth: 4 })).not.toContain('a-secret');
    });
  });
});
