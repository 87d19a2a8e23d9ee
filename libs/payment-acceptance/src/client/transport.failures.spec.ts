import { afterAll, describe, expect, test } from '@jest/globals';
import axios from 'axios';
import type { Agent, ClientRequest } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { closeTransports, failure, serve, transport } from '../../../../test/support/transports.js';
import { until } from '../../../../test/support/until.js';
import { TransportFailure, type TransportLimits } from './transport.js';

describe('whether a failed request may have left', () => {
  afterAll(closeTransports);

  describe.each(['GET', 'POST'] as const)('requests that provably never left, %s', (method) => {
    const failing = (url: string, limits?: Partial<TransportLimits>, signal?: AbortSignal) =>
      failure(url, limits, signal, method);

    test('a request to a refused port provably never left', async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      await new Promise((resolve) => server.close(resolve));
      expect(await failing(`http://127.0.0.1:${port}/`)).toEqual(new TransportFailure('ECONNREFUSED', false, false));
    });

    test('a request to a host name that does not exist provably never left', async () => {
      const { mayHaveLeft: left, reason } = await failing('http://name.invalid/');
      expect([left, reason]).toEqual([false, expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/)]);
    });

    test('a request whose TLS handshake fails after the connection was accepted provably never left', async () => {
      const port = await serve(() => undefined, createTlsServer());
      const { mayHaveLeft: left, reason } = await failing(`https://127.0.0.1:${port}/`);
      expect([left, reason]).toEqual([false, expect.stringMatching(/SSL|TLS|EPROTO|ECONNRESET/)]);
    });

    test('a request to an https address without TLS provably never left', async () => {
      const port = await serve((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
      expect((await failing(`https://127.0.0.1:${port}/`)).mayHaveLeft).toBe(false);
    });

    test('a request whose TLS handshake never ends is given up at connectTimeoutMs and provably never left', async () => {
      const port = await serve(() => undefined);
      const failed = await failing(`https://127.0.0.1:${port}/`, { connectTimeoutMs: 30 });
      expect(failed).toEqual(new TransportFailure('CONNECT_TIMEOUT', false, false));
    });

    test.each(['https://api.example /api', 'http://[::1', 'http://127.0.0.1:99999/', '/api'])(
      'a request to an invalid address (%s) provably never left',
      async (url) => {
        expect(await failing(url)).toEqual(new TransportFailure('ERR_INVALID_URL', false, false));
      },
    );

    test('a request whose caller had aborted before provably never left', async () => {
      const failed = await failing('http://127.0.0.1/', {}, AbortSignal.abort());
      expect([failed.mayHaveLeft, failed.aborted]).toEqual([false, true]);
    });
  });

  describe('on a kept connection', () => {
    /** Sends a creation, whose connection is kept, then another; returns how the second ends. */
    async function second(act: (kept: Socket) => void, atHandOver: boolean): Promise<TransportFailure | 'answered'> {
      let kept: Socket | undefined;
      const port = await serve((socket) => {
        kept ??= socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}'));
      });
      const client = axios.create();
      let agent: Agent | undefined;
      client.interceptors.request.use((config) => {
        const { request } = config.transport as { request: (...given: unknown[]) => ClientRequest };
        const watched = {
          request: (...given: unknown[]) =>
            request(...given).once('socket', () => {
              if (agent && atHandOver) act(kept!);
              agent = config.httpAgent as Agent;
            }),
        };
        return { ...config, transport: watched };
      });
      const sender = transport({}, client);
      const send = () =>
        sender.send({ method: 'POST', url: `http://127.0.0.1:${port}/`, token: 'a-token', fields: {} });
      await send();
      await until(
        () => new Promise<number>((resolve) => setImmediate(() => resolve(Object.keys(agent!.freeSockets).length))),
        (count) => count === 1,
      );
      if (!atHandOver) act(kept!);
      return send().then(
        () => 'answered' as const,
        (error: unknown) => error as TransportFailure,
      );
    }

    test('a request on a kept connection that is reset before anything is written provably never left', async () => {
      const failed = await second((kept) => kept.resetAndDestroy(), true);
      expect(failed).toMatchObject({ mayHaveLeft: false, aborted: false });
    });

    test('a request on a kept connection that is reset after the server read something may have left', async () => {
      const failed = await second((kept) => kept.once('data', () => kept.resetAndDestroy()), false);
      expect(failed).toMatchObject({ mayHaveLeft: true });
    });

    test('a request on a kept connection that is closed without an answer may have left', async () => {
      const failed = await second((kept) => kept.once('data', () => kept.end()), false);
      expect(failed).toMatchObject({ mayHaveLeft: true });
    });
  });

  describe.each(['GET', 'POST'] as const)('requests that may have left, %s', (method) => {
    const failing = (url: string, limits?: Partial<TransportLimits>, signal?: AbortSignal) =>
      failure(url, limits, signal, method);

    test('a request whose accepted connection is reset may have left', async () => {
      const port = await serve((socket) => socket.once('data', () => socket.resetAndDestroy()));
      expect(await failing(`http://127.0.0.1:${port}/`)).toEqual(new TransportFailure('ECONNRESET', true, false));
    });

    test('a request whose connection is closed without an answer may have left', async () => {
      const port = await serve((socket) => socket.once('data', () => socket.end()));
      expect((await failing(`http://127.0.0.1:${port}/`)).mayHaveLeft).toBe(true);
    });

    test('a request with an answer that is not HTTP may have left', async () => {
      const port = await serve((socket) => socket.once('data', () => socket.end('hello\r\n\r\n')));
      expect((await failing(`http://127.0.0.1:${port}/`)).mayHaveLeft).toBe(true);
    });

    test('a request whose answer breaks off may have left', async () => {
      const port = await serve((socket) =>
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"success":')),
      );
      expect((await failing(`http://127.0.0.1:${port}/`)).mayHaveLeft).toBe(true);
    });

    test('a request without any answer is given up at totalTimeoutMs and may have left', async () => {
      const port = await serve(() => undefined);
      const failed = await failing(`http://127.0.0.1:${port}/`, { totalTimeoutMs: 50 });
      expect(failed).toEqual(new TransportFailure('timeout', true, false));
    });

    test('a request whose answer trickles in is given up at totalTimeoutMs and may have left', async () => {
      const port = await serve((socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n');
        const drip = setInterval(() => socket.write('x'), 5);
        socket.on('close', () => clearInterval(drip));
      });
      const failed = await failing(`http://127.0.0.1:${port}/`, { totalTimeoutMs: 80 });
      expect(failed).toEqual(new TransportFailure('timeout', true, false));
    });

    test('a request whose caller aborts while waiting for the answer may have left', async () => {
      const control = new AbortController();
      const port = await serve((socket) => socket.once('data', () => control.abort()));
      const failed = await failing(`http://127.0.0.1:${port}/`, {}, control.signal);
      expect([failed.mayHaveLeft, failed.aborted]).toEqual([true, true]);
    });
  });
});
