import { afterAll, describe, expect, test } from '@jest/globals';
import axios from 'axios';
import type { Agent, ClientRequest } from 'node:http';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { closeTransports, failure, serve, transport } from '../../../../test/support/transports.js';
import { until } from '../../../../test/support/until.js';
import { TransportFailure, type TransportLimits } from './transport.js';

describe('what a failed request says of whether it left', () => {
  afterAll(closeTransports);

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

    test('reset when it has just been given, before anything is written: provably never left', async () => {
      const failed = await second((kept) => kept.resetAndDestroy(), true);
      expect(failed).toMatchObject({ mayHaveLeft: false, aborted: false });
    });

    test('reset after something was read: may have left', async () => {
      const failed = await second((kept) => kept.once('data', () => kept.resetAndDestroy()), false);
      expect(failed).toMatchObject({ mayHaveLeft: true });
    });

    test('answered without a message, then closed: may have left', async () => {
      const failed = await second((kept) => kept.once('data', () => kept.end()), false);
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
});
