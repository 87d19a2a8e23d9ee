import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { EventEmitter, once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import pg from 'pg';
import { PaymentClock } from '../common/clock.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { PostgresDatabase } from './postgres/postgres.database.js';
import { Signals } from './signals.js';
import { openPgPool, type PgPoolClass } from './pool-source.js';

/** AuthenticationOk and ReadyForQuery of PostgreSQL's protocol. */
const WELCOME = Buffer.from([...Buffer.from('R'), 0, 0, 0, 8, 0, 0, 0, 0, ...Buffer.from('Z'), 0, 0, 0, 5, 73]);

/** `performance` stays real: times that were taken from it must stay in the past. */
const FAKE: Parameters<typeof jest.useFakeTimers>[0] = {
  doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance'],
};

/** Longer than any timeout, and than the pause after the first failure. */
const LONG_MS = 30_000;

/** Shorter than the time within which a statement must be answered. */
const SHORT_MS = 5_000;

let server: Server;
let sockets: Socket[];
let welcoming: boolean;
let signals: Signals;
let warned: jest.SpiedFunction<PaymentLogger['write']>;

const connection = () => once(server, 'connection') as Promise<[Socket]>;

describe('signals', () => {
  beforeEach(async () => {
    sockets = [];
    // The server never ends a connection by itself, like a proxy whose database is gone.
    server = createServer({ allowHalfOpen: true }, (socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      socket.once('data', () => welcoming && socket.write(WELCOME)).resume();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    warned = jest.spyOn(PaymentLogger.prototype, 'write').mockImplementation(() => undefined);
    const { port } = server.address() as AddressInfo;
    const to = { host: '127.0.0.1', port, user: 'u', password: 'p', database: 'd' };
    const source = openPgPool(pg.Pool as unknown as PgPoolClass, to, 4);
    signals = new Signals(new PostgresDatabase(source, new PaymentClock()), new PaymentRandom());
  });
  afterEach(async () => {
    jest.useRealTimers();
    jest.restoreAllMocks();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  describe.each([
    ['accepts and never answers', false, 'timeout expired'],
    ['lets in and never answers then', true, 'did not answer within 10000 ms'],
  ])('a server that %s', (_, lets, why) => {
    beforeEach(() => {
      welcoming = lets;
    });

    test('an unresponsive server is left after a timeout, and another connection is tried', async () => {
      jest.useFakeTimers(FAKE);
      const came = connection();
      signals.start(() => undefined);
      const [first] = await came;
      if (lets) await listening(first);
      const left = once(first, 'end');
      const again = connection();
      await jest.advanceTimersByTimeAsync(LONG_MS);
      await Promise.all([left, again]);
      expect(warned.mock.calls.map(([, message]) => message)).toContainEqual(expect.stringContaining(why));
      const stopped = signals.stop();
      await jest.advanceTimersByTimeAsync(LONG_MS);
      await stopped;
    });

    test('an unresponsive server does not delay the shutdown', async () => {
      const came = connection();
      signals.start(() => undefined);
      const [socket] = await came;
      const left = once(socket, 'end');
      await signals.stop();
      await left;
    });
  });

  /** Resolves once LISTEN has arrived. */
  async function listening(socket: Socket): Promise<void> {
    for (let heard = ''; !heard.includes('LISTEN');) heard += String(((await once(socket, 'data')) as [Buffer])[0]);
  }

  describe('a connection that hears others', () => {
    /** A client whose statements, after the first signal to itself, end when they are told to. */
    class HeldClient extends EventEmitter {
      readonly sent: string[] = [];
      readonly ends: (() => void)[] = [];
      connect = () => Promise.resolve();
      end = () => Promise.resolve();

      query(_sql: string, parameters?: [string, string]): Promise<unknown> {
        const payload = parameters?.[1];
        if (payload === undefined) return Promise.resolve();
        if (!payload.includes(' ')) {
          this.emit('notification', { payload });
          return Promise.resolve();
        }
        this.sent.push(payload.split(' ').slice(1).join(' '));
        this.emit('sent');
        return new Promise<void>((resolve) => this.ends.push(resolve));
      }
    }

    const heldSignals = (clients: (HeldClient | undefined)[]): Signals => {
      const Client = function () {
        const client = clients.shift();
        if (!client) throw new Error("ENOENT: no such file or directory, open 'ca.crt'");
        return client;
      };
      const database = { schema: 'payment_acceptance', source: { pg: { Client } } } as unknown as PostgresDatabase;
      return new Signals(database, new PaymentRandom());
    };

    test('a connection that falls silent is replaced', async () => {
      const [silent, next] = [new HeldClient(), new HeldClient()];
      const own = heldSignals([silent, next]);
      await new Promise<void>((heard) => own.start(() => heard()));
      jest.useFakeTimers(FAKE);
      own.notify('hint');
      await jest.advanceTimersByTimeAsync(SHORT_MS);
      await jest.advanceTimersByTimeAsync(LONG_MS);
      own.notify('event');
      await jest.advanceTimersByTimeAsync(SHORT_MS);
      expect([silent.sent, next.sent]).toEqual([['hint'], ['event']]);
      expect(warned.mock.calls.map(([code]) => code)).toEqual(['wake-ups-lost', 'wake-ups-restored']);
      next.ends.shift()!();
      await own.stop();
    });

    test('a connection that cannot even be prepared, for a certificate that is gone, is tried again', async () => {
      const [first, next] = [new HeldClient(), new HeldClient()];
      const own = heldSignals([first, undefined, next]);
      await new Promise<void>((heard) => own.start(() => heard()));
      jest.useFakeTimers(FAKE);
      first.emit('end');
      await jest.advanceTimersByTimeAsync(2 * LONG_MS);
      own.notify('event');
      await jest.advanceTimersByTimeAsync(SHORT_MS);
      expect(next.sent).toEqual(['event']);
      next.ends.shift()!();
      await own.stop();
    });

    test('a connection sends one signal at a time, and later ones together with the next', async () => {
      const client = new HeldClient();
      const own = heldSignals([client]);
      await new Promise<void>((heard) => own.start(() => heard()));
      own.notify('hint');
      await once(client, 'sent');
      jest.useFakeTimers(FAKE);
      own.notify('hint');
      own.notify('event');
      await jest.advanceTimersByTimeAsync(SHORT_MS);
      expect(client.sent).toEqual(['hint']);
      client.ends.shift()!();
      await jest.advanceTimersByTimeAsync(SHORT_MS);
      expect(client.sent).toEqual(['hint', 'hint event']);
      client.ends.shift()!();
      await jest.advanceTimersByTimeAsync(SHORT_MS);
      expect(client.sent).toHaveLength(2);
      await own.stop();
    });
  });
});
