import axios from 'axios';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import {
  Transport,
  TransportFailure,
  type TransportLimits,
} from '../../libs/payment-acceptance/src/client/transport.js';

const LIMITS: TransportLimits = {
  connectTimeoutMs: 2_000,
  totalTimeoutMs: 5_000,
  maxAnswerBytes: 10_000,
};
const sockets: Socket[] = [];
const servers: Server[] = [];
const transports: Transport[] = [];

export function transport(limits: Partial<TransportLimits> = {}, client = axios.create()): Transport {
  const made = new Transport(client, { ...LIMITS, ...limits }, Date.now);
  transports.push(made);
  return made;
}

/** Starts a server that handles each connection as the test says; returns its port. */
export async function serve(onConnection: (socket: Socket) => void, server = createServer()): Promise<number> {
  server.on('connection', (socket: Socket) => {
    sockets.push(socket.on('error', () => undefined));
    onConnection(socket);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** How a request fails that must fail. */
export async function failure(
  url: string,
  limits: Partial<TransportLimits> = {},
  signal?: AbortSignal,
  method: 'GET' | 'POST' = 'POST',
): Promise<TransportFailure> {
  const fields = method === 'POST' ? {} : undefined;
  const end: unknown = await transport(limits)
    .send({ method, url, token: 'a-token', fields, signal })
    .catch((thrown: unknown) => thrown);
  if (!(end instanceof TransportFailure)) throw new Error('The request did not fail as a request.');
  return end;
}

/** Closes all transports and servers. */
export function closeTransports(): void {
  for (const made of transports.splice(0)) made.close();
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of servers.splice(0)) server.close();
}
