import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import axios from 'axios';
import type { ClientRequest } from 'node:http';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { Recorder } from '../../../../test/support/recorder.js';
import { until } from '../../../../test/support/until.js';
import { Transport, TransportFailure, type TransportLimits } from './transport.js';

const LIMITS: TransportLimits = {
  connectTimeoutMs: 2_000,
  totalTimeoutMs: 5_000,
  maxAnswerBytes: 10_000,
  openAheadMs: 2_000,
};
const sockets: Socket[] = [];
const servers: Server[] = [];
const transports: Transport[] = [];

function transport(limits: Partial<TransportLimits> = {}): Transport {
  const made = new Transport(axios.create(), { ...LIMITS, ...limits }, Date.now);
  transports.push(made);
  return made;
}

/** A server that does with each connection what the test says; gives its port. */
async function serve(onConnection: (socket: Socket) => void, server = createServer()): Promise<number> {
  server.on('connection', (socket: Socket) => {
    sockets.push(socket.on('error', () => undefined));
    onConnection(socket);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function failure(
  url: string,
  limits: Partial<TransportLimits> = {},
  signal?: AbortSignal,
  method: 'GET' | 'POST' = 'POST',
): Promise<TransportFailure> {
  const form = method === 'POST' ? new FormData() : undefined;
  const end: unknown = await transport(limits)
    .send({ method, url, token: 'a-token', form, signal })
    .catch((thrown: unknown) => thrown);
  if (!(end instanceof TransportFailure)) throw new Error('The request did not fail as a request.');
  return end;
}

let recorder: Recorder;

describe('transport', () => {
  beforeAll(async () => {
    recorder = await new Recorder().open();
  });
  afterAll(async () => {
    for (const made of transports) made.close();
    for (const socket of sockets) socket.destroy();
    for (const server of servers) server.close();
    await recorder.close();
  });

  describe.each(['GET', 'POST'] as const)('provably never left, %s:', (method) => {
    const failing = (url: string, limits?: Partial<TransportLimits>, signal?: AbortSignal) =>
      failure(url, limits, signal, method);

    test('a refused port', async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      await new Promise((resolve) => server.close(resolve));
      expect(await failing(`http://127.0.0.1:${port}/`)).toEqual(new TransportFailure('ECONNREFUSED', false, false));
    });

    test('a name that does not exist', async () => {
      const { mayHaveLeft: left, reason } = await failing('http://name.invalid/');
      expect([left, reason]).toEqual([false, expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/)]);
    });

    test('a TLS handshake that fails, although the connection was accepted', async () => {
      const port = await serve(() => undefined, createTlsServer());
      const { mayHaveLeft: left, reason } = await failing(`https://127.0.0.1:${port}/`);
      expect([left, reason]).toEqual([false, expect.stringMatching(/SSL|TLS|EPROTO|ECONNRESET/)]);
    });

    test('something else than TLS at an https address', async () => {
      const port = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
      expect((await failing(`https://127.0.0.1:${port}/`)).mayHaveLeft).toBe(false);
    });

    test('a TLS handshake that never ends, up to the limit of connecting', async () => {
      const port = await serve(() => undefined);
      const failed = await failing(`https://127.0.0.1:${port}/`, { connectTimeoutMs: 30 });
      expect(failed).toEqual(new TransportFailure('CONNECT_TIMEOUT', false, false));
    });

    test.each(['https://api.example /api', 'http://[::1', 'http://127.0.0.1:99999/', '/api'])(
      'an address that cannot be requested (%s)',
      async (url) => {
        expect(await failing(url)).toEqual(new TransportFailure('ERR_INVALID_URL', false, false));
      },
    );

    test('a caller who gave up before', async () => {
      const failed = await failing(`${recorder.url}/`, {}, AbortSignal.abort());
      expect([failed.mayHaveLeft, failed.aborted]).toEqual([false, true]);
    });
  });

  describe('on a connection that was opened ahead', () => {
    /**
     * Sends a creation, so that a connection stands ready, and another one; gives how that ends, and the waiting side.
     */
    async function second(act: (waiting: Socket) => void, atHandOver: boolean): Promise<TransportFailure | 'answered'> {
      const accepted: Socket[] = [];
      let answered = false;
      const port = await serve((socket) => {
        accepted.push(socket);
        socket.once('data', () => {
          if (answered) return;
          answered = true;
          socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}');
        });
        if (!atHandOver && accepted.length === 2) act(socket);
      });
      const client = axios.create();
      const sender = new Transport(client, LIMITS, Date.now);
      transports.push(sender);
      const send = () =>
        sender.send({ method: 'POST', url: `http://127.0.0.1:${port}/`, token: 'a-token', form: new FormData() });
      await send();
      await until(
        () => new Promise<number>((resolve) => setImmediate(() => resolve(accepted.length))),
        (count) => count === 2,
      );
      if (atHandOver) {
        client.interceptors.request.use((config) => {
          const { request } = config.transport as { request: (...given: unknown[]) => ClientRequest };
          const transport = {
            request: (...given: unknown[]) => request(...given).once('socket', () => act(accepted[1]!)),
          };
          return { ...config, transport };
        });
      }
      return send().then(
        () => 'answered' as const,
        (error: unknown) => error as TransportFailure,
      );
    }

    test('reset when it has just been given, before anything is written: provably never left', async () => {
      const failed = await second((waiting) => waiting.resetAndDestroy(), true);
      expect(failed).toMatchObject({ mayHaveLeft: false, aborted: false });
    });

    test('reset after something was read: may have left', async () => {
      const failed = await second((waiting) => waiting.once('data', () => waiting.resetAndDestroy()), false);
      expect(failed).toMatchObject({ mayHaveLeft: true });
    });

    test('answered without a word, then closed: may have left', async () => {
      const failed = await second((waiting) => waiting.once('data', () => waiting.end()), false);
      expect(failed).toMatchObject({ mayHaveLeft: true });
    });
  });

  describe.each(['GET', 'POST'] as const)('may have left, %s:', (method) => {
    const failing = (url: string, limits?: Partial<TransportLimits>, signal?: AbortSignal) =>
      failure(url, limits, signal, method);

    test('a connection that is accepted, then reset', async () => {
      const port = await serve((socket) => socket.once('data', () => socket.resetAndDestroy()));
      expect(await failing(`http://127.0.0.1:${port}/`)).toEqual(new TransportFailure('ECONNRESET', true, false));
    });

    test('one that is closed without an answer', async () => {
      const port = await serve((socket) => socket.once('data', () => socket.end()));
      expect((await failing(`http://127.0.0.1:${port}/`)).mayHaveLeft).toBe(true);
    });

    test('an answer that is not HTTP', async () => {
      const port = await serve((socket) => socket.once('data', () => socket.end('hello\r\n\r\n')));
      expect((await failing(`http://127.0.0.1:${port}/`)).mayHaveLeft).toBe(true);
    });

    test('an answer that breaks off', async () => {
      const port = await serve((socket) =>
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"success":')),
      );
      expect((await failing(`http://127.0.0.1:${port}/`)).mayHaveLeft).toBe(true);
    });

    test('no answer at all, up to the limit of the whole', async () => {
      const port = await serve(() => undefined);
      const failed = await failing(`http://127.0.0.1:${port}/`, { totalTimeoutMs: 50 });
      expect(failed).toEqual(new TransportFailure('timeout', true, false));
    });

    test('an answer that drips: the limit is on the whole, not on the pauses', async () => {
      const port = await serve((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
        const drip = setInterval(() => socket.write('x'), 5);
        socket.on('close', () => clearInterval(drip));
      });
      const failed = await failing(`http://127.0.0.1:${port}/`, { totalTimeoutMs: 80 });
      expect(failed).toEqual(new TransportFailure('timeout', true, false));
    });

    test('a caller who gives up while the answer is awaited', async () => {
      const control = new AbortController();
      const port = await serve((socket) => socket.once('data', () => control.abort()));
      const failed = await failing(`http://127.0.0.1:${port}/`, {}, control.signal);
      expect([failed.mayHaveLeft, failed.aborted]).toEqual([true, true]);
    });
  });

  describe('the size of an answer', () => {
    const send = () => transport().send({ method: 'GET', url: `${recorder.url}/`, token: 'a-token' });

    test('up to the limit is read, compressed or not', async () => {
      recorder.answer(
        { body: 'x'.repeat(10_000) },
        { body: gzipSync('y'.repeat(10_000)), headers: { 'content-encoding': 'gzip' } },
      );
      expect((await send()).text).toBe('x'.repeat(10_000));
      expect((await send()).text).toBe('y'.repeat(10_000));
    });

    test('beyond it the answer is not read: announced, without a length, and a gzip bomb', async () => {
      const bomb = gzipSync(Buffer.alloc(50_000_000));
      expect(bomb.length).toBeLessThan(60_000);
      recorder.answer(
        { body: 'x'.repeat(10_001) },
        (_request, response) => response.writeHead(200, { 'transfer-encoding': 'chunked' }).end('x'.repeat(10_001)),
        { body: bomb, headers: { 'content-encoding': 'gzip' } },
      );
      for (let answer = 0; answer < 3; answer += 1) {
        await expect(send()).rejects.toEqual(new TransportFailure('ERR_BAD_RESPONSE', true, false));
      }
    });
  });

  test('no redirect is followed, and no proxy of the environment is asked', async () => {
    const elsewhere = await new Recorder().open();
    process.env.http_proxy = elsewhere.url;
    try {
      recorder.answer({ status: 302, headers: { location: `${elsewhere.url}/stolen` } });
      const answer = await transport().send({ method: 'GET', url: `${recorder.url}/`, token: 'a-token' });
      expect(answer.status).toBe(302);
      expect([recorder.requests.length, elsewhere.requests.length]).toEqual([1, 0]);
    } finally {
      delete process.env.http_proxy;
      await elsewhere.close();
    }
  });

  test('a read passes the interceptors of the host, whatever they make of it', async () => {
    const client = axios.create();
    const seen: unknown[] = [];
    client.interceptors.response.use((answer) => {
      seen.push([answer.status, answer.headers['content-type'], answer.data, answer.config.url]);
      return answer;
    });
    const sender = new Transport(client, LIMITS, Date.now);
    transports.push(sender);
    const asked: (string | undefined)[] = [];
    recorder.answer((request, response) => {
      asked.push(`${request.url} ${String(request.headers['x-tenant'])} ${request.headers.authorization}`);
      response.setHeader('content-type', 'application/json').end('{"data":"ä"}');
    });
    const url = `${recorder.url}/list?id=b-1`;
    const send = () => sender.send({ method: 'GET', url, token: 'a-token' });
    expect(await send()).toMatchObject({ status: 200, text: '{"data":"ä"}' });
    client.interceptors.request.use((config) => {
      config.headers.set('X-Tenant', 'north');
      config.params = { page: 2 };
      return config;
    });
    expect(await send()).toMatchObject({ status: 200, text: '{"data":"ä"}' });
    expect(asked).toEqual(['/list?id=b-1 undefined Bearer a-token', '/list?id=b-1&page=2 north Bearer a-token']);
    expect(seen).toEqual([0, 1].map(() => [200, 'application/json', '{"data":"ä"}', url]));
  });

  test('reads share a connection; a creation opens its own', async () => {
    const ports: (number | undefined)[] = [];
    recorder.answer((request, response) => {
      ports.push(request.socket.remotePort);
      response.end('{}');
    });
    const sender = transport();
    const send = (method: 'GET' | 'POST') =>
      sender.send({
        method,
        url: `${recorder.url}/`,
        token: 'a-token',
        form: method === 'POST' ? new FormData() : undefined,
      });
    for (const method of ['GET', 'GET', 'POST', 'POST'] as const) await send(method);
    expect(ports[1]).toBe(ports[0]);
    expect(new Set(ports).size).toBe(3);
  });
});
