import { beforeEach } from '@jest/globals';
import axios from 'axios';
import http, { type Server, type ServerResponse } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Transport } from '../../libs/payment-acceptance/src/client/transport.js';
import { certificate } from './certificate.js';
import { closing } from './closing.js';
import { until } from './until.js';

/** A connection as the server has it. */
export interface Connection {
  readonly socket: Socket;
  requests: number;
}

const tls = certificate();

/** One turn of the event loop, for pending work on both sides. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
export const seen = (what: () => boolean): Promise<boolean> =>
  until(
    () => turn().then(what),
    (is) => is,
  );

/** A service that counts the creations of each connection. */
export class CreationService {
  readonly connections: Connection[] = [];
  /** Answers that a test holds back. */
  held: ServerResponse[] | undefined;
  /** The monotonic clock of the transport, in milliseconds. */
  now = 1_000_000;
  /** What the transport gives its requests to. */
  agent!: http.Agent;
  readonly transport: Transport;
  private readonly server: Server;

  constructor(private readonly protocol: 'http' | 'https') {
    const client = axios.create();
    client.interceptors.request.use((config) => {
      this.agent = (protocol === 'http' ? config.httpAgent : config.httpsAgent) as http.Agent;
      Object.assign((this.agent as https.Agent).options, { ca: tls.cert });
      return config;
    });
    const limits = { connectTimeoutMs: 2_000, totalTimeoutMs: 5_000, maxAnswerBytes: 10_000 };
    this.transport = new Transport(client, limits, () => this.now);
    const answer: http.RequestListener = (request, response) => {
      for (const each of this.connections) if (each.socket === request.socket) each.requests += 1;
      request.resume().once('end', () => {
        if (this.held) this.held.push(response);
        else response.end('{}');
      });
    };
    this.server = protocol === 'http' ? http.createServer(answer) : https.createServer(tls, answer);
    this.server.on(protocol === 'http' ? 'connection' : 'secureConnection', (socket: Socket) => {
      this.connections.push({ socket: socket.on('error', () => undefined), requests: 0 });
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve));
  }

  close(): Promise<unknown> {
    this.transport.close();
    this.server.closeAllConnections();
    for (const { socket } of this.connections) socket.destroy();
    return new Promise((resolve) => this.server.close(resolve));
  }

  /** The connections that the agent keeps for the next creations. */
  kept(): readonly Socket[] {
    return Object.values(this.agent.freeSockets).flatMap((sockets) => sockets ?? []);
  }

  /** Sends one creation; returns the status of its answer. */
  async create(): Promise<number> {
    const { port } = this.server.address() as AddressInfo;
    const url = `${this.protocol}://127.0.0.1:${port}/`;
    return (await this.transport.send({ method: 'POST', url, token: 'a-secret', fields: { order_id: 'A-1' } })).status;
  }

  /** Makes that many creations at once, whose connections are then kept. */
  async keeping(count: number): Promise<Connection[]> {
    this.held = [];
    const creations = Array.from({ length: count }, () => this.create());
    await seen(() => this.held?.length === count);
    for (const response of this.held) response.end('{}');
    this.held = undefined;
    await Promise.all(creations);
    await seen(() => this.kept().length === count);
    return [...this.connections];
  }
}

/** A service of its own for each test. Call this in a `describe`. */
export function creationServices(protocol: 'http' | 'https'): () => CreationService {
  let service: CreationService;
  const close = closing();
  beforeEach(async () => {
    service = new CreationService(protocol);
    close(() => service.close());
    await service.listen();
  });
  return () => service;
}
