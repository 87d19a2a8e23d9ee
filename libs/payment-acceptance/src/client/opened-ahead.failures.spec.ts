import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import { creationServices, seen, turn, type CreationService } from '../../../../test/support/creation-service.js';

describe('opened ahead', () => {
  describe.each(['http', 'https'] as const)('%s', (protocol) => {
    const current = creationServices(protocol);
    let service: CreationService;
    beforeEach(() => {
      service = current();
    });

    test.each<[string, (socket: Socket) => void]>([
      ['sends something', (socket) => socket.write('HTTP/1.1 408 Request Timeout\r\n\r\n')],
      ['closes it', (socket) => socket.end()],
      ['resets it', (socket) => (protocol === 'http' ? socket.resetAndDestroy() : socket.destroy())],
    ])(
      'where the server %s, it and all others are dropped, and none is opened until a creation succeeds',
      async (_, act) => {
        const waiting = await service.ready(3);
        act(waiting[1]!.socket);
        await seen(() => waiting.every(({ socket }) => socket.destroyed || socket.readableEnded));
        expect(service.ahead.size).toBe(0);
        const before = service.connections.length;
        service.status = 503;
        expect(await service.create()).toBe(503);
        await turn();
        expect([service.ahead.size, service.connections.length]).toEqual([0, before + 1]);
        service.status = 200;
        await service.create();
        await seen(() => service.ahead.size > 0);
      },
    );

    test('an end that has reached the machine, and that nobody has heard of yet, is heard before one is used', async () => {
      const waiting = await service.ready(3);
      // The server runs in this process, so the client has had no chance to read.
      for (const { socket } of waiting) {
        if (protocol === 'http') socket.resetAndDestroy();
        else socket.destroy();
      }
      expect(await service.create()).toBe(200);
      expect(waiting.map(({ requests }) => requests)).toEqual([0, 0, 0]);
    });

    test('an opening that fails is nobody’s error, and the only one until a creation has succeeded', async () => {
      await service.ready(1);
      service.now += 1_000;
      service.server.prependListener('connection', (socket: Socket) => void socket.destroy());
      service.held = [];
      let attempts = 0;
      service.server.on('connection', () => (attempts += 1));
      const creating = service.create();
      await seen(() => service.held?.length === 1 && attempts === 1 && service.ahead.size === 0);
      // These two open their own connections, which fail; no others are opened.
      const ends = await Promise.allSettled([service.create(), service.create()]);
      expect(ends.map((end) => end.status)).toEqual(['rejected', 'rejected']);
      expect([attempts, service.ahead.size]).toEqual([3, 0]);
      service.held[0]?.end('{}');
      expect(await creating).toBe(200);
    });

    test('a creation that fails drops those that stand ready: they lead to the same server', async () => {
      const waiting = await service.ready(3);
      service.held = [];
      const creating = service.create();
      await seen(() => service.held?.length === 1);
      for (const { socket, requests } of service.connections) if (requests === 1 && !socket.destroyed) socket.destroy();
      await expect(creating).rejects.toThrow();
      expect(service.ahead.size).toBe(0);
      await seen(() => waiting.every(({ socket }) => socket.destroyed));
    });
  });
});
