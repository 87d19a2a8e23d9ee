import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import { inspect } from 'node:util';
import { creationServices, seen, turn, type CreationService } from '../../../../test/support/creation-service.js';
import { until } from '../../../../test/support/until.js';

describe('kept connections for creating bills', () => {
  describe.each(['http', 'https'] as const)('over %s', (protocol) => {
    const current = creationServices(protocol);
    let service: CreationService;
    beforeEach(() => {
      service = current();
    });
    const requests = (): number[] => service.connections.map((connection) => connection.requests);

    test('a kept connection is reused by the next creation, one creation at a time', async () => {
      await service.keeping(2);
      await service.keeping(2);
      expect(requests()).toEqual([2, 2]);
      await service.keeping(3);
      expect(requests()).toEqual([3, 3, 1]);
    });

    test('a connection is not kept at once after an answer, in case the server closes it silently', async () => {
      const { kept } = await until(
        async () => {
          const began = performance.now();
          await service.create();
          for (const answered = performance.now(); performance.now() - answered < 30;) await turn();
          return { kept: service.kept().length, tookMs: performance.now() - began };
        },
        // On a busy machine, the pause may already be over.
        ({ tookMs }) => tookMs < 90,
      );
      expect(kept).toBe(0);
      for (const { socket } of service.connections) socket.destroy();
      const before = requests();
      expect(await service.create()).toBe(200);
      expect(requests()).toEqual([...before, 1]);
    });

    test('a kept connection that is too old by the clock is not used, although its timer is late', async () => {
      const [old] = await service.keeping(1);
      service.now += 1_001;
      expect(await service.create()).toBe(200);
      expect(requests()).toEqual([1, 1]);
      await seen(() => old?.socket.destroyed === true);
    });

    test('an unused kept connection is closed when it is too old, and no new one is opened', async () => {
      const kept = await service.keeping(2);
      await seen(() => kept.every(({ socket }) => socket.destroyed) && service.kept().length === 0);
      expect(service.connections.length).toBe(2);
    });

    test('kept connections and their timers do not keep the process alive', async () => {
      const keeping = (): number =>
        process.getActiveResourcesInfo().filter((name) => ['TCPSocketWrap', 'TLSWrap'].includes(name)).length;
      for (const { socket } of await service.keeping(3)) socket.unref();
      const others = keeping();
      service.transport.close();
      expect(keeping()).toBe(others);
    });

    test('kept connections are closed with the application, and a late creation opens its own', async () => {
      const kept = await service.keeping(2);
      await service.create();
      service.transport.close();
      await seen(() => kept.every(({ socket }) => socket.destroyed));
      expect(await service.create()).toBe(200);
    });

    test.each<[string, (socket: Socket) => void]>([
      ['sends something', (socket) => socket.write('HTTP/1.1 408 Request Timeout\r\nContent-Length: 2\r\n\r\n{}')],
      ['closes it', (socket) => socket.end()],
      ['resets it', (socket) => (protocol === 'http' ? socket.resetAndDestroy() : socket.destroy())],
    ])('where the server %s, and this is not noticed yet, a creation uses another connection', async (_, act) => {
      const kept = await service.keeping(3);
      // The server runs in this process, so the client has had no chance to read.
      for (const { socket } of kept) act(socket);
      expect(await service.create()).toBe(200);
      expect(requests()).toEqual([1, 1, 1, 1]);
    });

    test('printing the transport shows no token of the current or an earlier request', async () => {
      await service.keeping(2);
      service.held = [];
      const creation = service.create();
      await seen(() => service.held?.length === 1);
      const shown = inspect(service.transport, { depth: 9 });
      service.held[0]?.end('{}');
      expect(await creation).toBe(200);
      expect(shown).not.toContain('a-secret');
    });
  });
});
