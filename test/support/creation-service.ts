import { afterEach, beforeEach, expect } from '@jest/globals';
import http, { type Server, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { HttpCreationAgent, HttpsCreationAgent } from '../../libs/payment-acceptance/src/client/creation-agents.js';
import { OpenedAhead } from '../../libs/payment-acceptance/src/client/opened-ahead.js';
import { certificate } from './certificate.js';
import { closing } from './closing.js';
import { until } from './until.js';

/** A connection as the server has it. */
export interface Connection {
  readonly socket: Socket;
  requests: number;
}

const tls = certificate();
export const LIFE_MS = 2_000;

/** One turn of the event loop, for pending work on both sides. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
export const seen = (what: () => boolean): Promise<boolean> =>
  until(
    () => turn().then(what),
    (is) => is,
  );

class WatchedOpenedAhead extends OpenedAhead {
  constructor(
    maxAgeMs: number,
    now: () => number,
    private readonly opened: Socket[],
  ) {
    super(maxAgeMs, now);
  }

  override connect(...[name, { begin, upAt }, use]: Parameters<OpenedAhead['connect']>): Socket | undefined {
    const watched = (): Socket => {
      const socket = begin();
      this.opened.push(socket);
      return socket;
    };
    return super.connect(name, { begin: watched, upAt }, use);
  }
}

/** A service that counts requests, and creations sent to it through connections opened ahead. */
export class CreationService {
  readonly connections: Connection[] = [];
  /** Every opened connection, used or not. */
  readonly opened: Socket[] = [];
  /** Answers that a test holds back. */
  held: ServerResponse[] | undefined;
  status = 200;
  now = 1_000_000;
  readonly server: Server;
  ahead!: OpenedAhead;
  private agent!: http.Agent;

  constructor(private readonly protocol: 'http' | 'https') {
    const answer: http.RequestListener = (request, response) => {
      for (const each of this.connections) if (each.socket === request.socket) each.requests += 1;
      request.resume().once('end', () => {
        response.statusCode = this.status;
        if (this.held) this.held.push(response);
        else response.end('{}');
      });
    };
    this.server = protocol === 'http' ? http.createServer(answer) : https.createServer(tls, answer);
    this.server.on(protocol === 'http' ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.connections.push({ socket: socket.on('error', () => undefined), requests: 0 });
    });
    this.use(LIFE_MS);
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  close(): Promise<unknown> {
    this.ahead.close();
    this.server.closeAllConnections();
    for (const { socket } of this.connections) socket.destroy();
    return new Promise((resolve) => this.server.close(resolve));
  }

  /** Opens connections ahead anew, up to that age. */
  use(maxAgeMs: number): void {
    this.ahead = new WatchedOpenedAhead(maxAgeMs, () => this.now, this.opened);
    this.agent =
      this.protocol === 'http'
        ? new HttpCreationAgent(this.ahead)
        : new HttpsCreationAgent(this.ahead, { ca: tls.cert });
  }

  unused(): Connection[] {
    return this.connections.filter(({ requests, socket }) => requests === 0 && !socket.destroyed);
  }

  /** Sends one request, noted as the transport notes it; returns the status of its answer. */
  create(): Promise<number> {
    const { port } = this.server.address() as AddressInfo;
    const answer = new Promise<number>((resolve, reject) => {
      const headers = { authorization: 'Bearer a-secret' };
      const options = { host: '127.0.0.1', port, method: 'POST', agent: this.agent, headers };
      const request = (this.protocol === 'http' ? http : https).request(options, (answer) => {
        answer.resume().once('close', () => {
          if (answer.statusCode === 200) this.ahead.noteSuccess(answer.socket);
          resolve(answer.statusCode ?? 0);
        });
      });
      request.once('socket', (socket) => request.once('error', () => this.ahead.noteFailure(socket)));
      request.once('error', reject).end('a bill');
    });
    // A failing test may never await it.
    answer.catch(() => undefined);
    return answer;
  }

  /** Makes that many concurrent creations, after which as many connections are ready on both sides. */
  async ready(count: number): Promise<Connection[]> {
    await Promise.all(Array.from({ length: count }, () => this.create()));
    await seen(() => this.unused().length === count && this.ahead.size === count);
    return this.unused();
  }
}

/** A service of its own for each test. Call this in a `describe`. */
export function creationServices(protocol: 'http' | 'https'): () => CreationService {
  let service: CreationService;
  afterEach(() => {
    // In no case did a connection carry two requests.
    expect(service.connections.filter(({ requests }) => requests > 1)).toEqual([]);
  });
  const close = closing();
  beforeEach(async () => {
    service = new CreationService(protocol);
    close(() => service.close());
    await service.listen();
  });
  return () => service;
}
