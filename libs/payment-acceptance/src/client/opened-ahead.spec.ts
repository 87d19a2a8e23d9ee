import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Socket } from 'node:net';
import { inspect } from 'node:util';
import {
  LIFE_MS,
  creationServices,
  seen,
  turn,
  type CreationService,
} from '../../../../test/support/creation-service.js';

describe('opened ahead', () => {
  describe.each(['http', 'https'] as const)('%s', (protocol) => {
    const current = creationServices(protocol);
    let service: CreationService;
    beforeEach(() => {
      service = current();
    });

    test('none before a creation has succeeded; then as many as the last second needed', async () => {
      service.held = [];
      const first = service.create();
      await seen(() => service.held?.length === 1);
      expect([service.ahead.size, service.connections.length]).toEqual([0, 1]);
      service.held[0]?.end('{}');
      service.held = undefined;
      await first;
      await seen(() => service.unused().length === 1);
      await Promise.all(Array.from({ length: 4 }, () => service.create()));
      await seen(() => service.unused().length === 5);
      service.now += 1_000;
      await service.create();
      await turn();
      // Only this one was needed lately; four of those opened earlier are left.
      expect([service.ahead.size, service.unused().length]).toEqual([4, 4]);
    });

    test('a creation takes one that was open before and never used, the oldest first, and another one is opened', async () => {
      const [oldest, next] = await service.ready(2);
      await service.create();
      expect([oldest?.requests, next?.requests]).toEqual([1, 0]);
      await seen(() => service.unused().length === 3);
      expect(service.ahead.size).toBe(3);
    });

    test('each is given once: of two creations at once one opens its own', async () => {
      const [only] = await service.ready(1);
      const before = service.connections.length;
      service.held = [];
      const both = [service.create(), service.create()];
      await seen(() => service.held?.length === 2);
      expect(only?.requests).toBe(1);
      for (const response of service.held) response.end('{}');
      await Promise.all(both);
      expect(service.connections.slice(before).some(({ requests }) => requests === 1)).toBe(true);
    });

    test('at most 32 for an address, however many creations there were', async () => {
      await Promise.all(Array.from({ length: 40 }, () => service.create()));
      await seen(() => service.unused().length === 32);
      expect(service.ahead.size).toBe(32);
    });

    test('one that is too old by the clock is not used, although its timer is late', async () => {
      const [old] = await service.ready(1);
      service.now += LIFE_MS + 1;
      expect(await service.create()).toBe(200);
      expect(old?.requests).toBe(0);
      await seen(() => old?.socket.destroyed === true);
    });

    test('an unused one is closed at its age, and nothing is opened for it: an idle instance holds none', async () => {
      service.ahead.close();
      service.use(500);
      const waiting = await service.ready(2);
      const count = service.connections.length;
      await Promise.all(waiting.map(({ socket }) => seen(() => socket.destroyed)));
      expect([service.ahead.size, service.connections.length]).toEqual([0, count]);
    });

    test('it holds no process: neither its socket nor its timer counts', async () => {
      const keeping = (): number =>
        process.getActiveResourcesInfo().filter((name) => ['TCPSocketWrap', 'TLSWrap'].includes(name)).length;
      const waiting = await service.ready(3);
      for (const { socket } of waiting) socket.unref();
      const others = keeping();
      service.ahead.close();
      expect(keeping()).toBe(others);
    });

    test('closed with the application; a creation that is late opens its own', async () => {
      const waiting = await service.ready(3);
      service.ahead.close();
      await seen(() => waiting.every(({ socket }) => socket.destroyed));
      expect(await service.create()).toBe(200);
      await turn();
      expect([service.ahead.size, service.unused()]).toEqual([0, []]);
    });

    test('0 ms: each creation opens its own', async () => {
      service.use(0);
      await service.create();
      await service.create();
      await turn();
      expect([service.ahead.size, service.connections.length]).toEqual([0, 2]);
    });

    test('what is kept for further connections has nothing of the request that came first', async () => {
      await service.ready(1);
      // Node keeps the options with a TLS connection.
      const keptBy = (socket: Socket): unknown[] =>
        Object.getOwnPropertySymbols(socket).map((key): unknown => Reflect.get(socket, key));
      expect(inspect(service.opened.map(keptBy), { depth: 4 })).not.toContain('a-secret');
    });
  });
});
