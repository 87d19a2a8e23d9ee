import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { PaymentUnknownOutcomeError } from 'nestjs-payment-acceptance';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { moduleOptions, startHarness, type Harness, type Instance } from '../support/harness.js';
import { until } from '../support/until.js';

/** A connection as the service sees it, with the orders requested on it. */
interface Connection {
  readonly socket: Socket;
  readonly orders: string[];
}

let harness: Harness;
let shop: Instance;
let server: Server;
const connections: Connection[] = [];
/** The connections that carry a request right now, and the most that one carried together. */
const under = new Set<Socket>();
let together = 0;
/** What the service does instead of answering. */
let instead: ((socket: Socket) => void) | undefined;

const create = (orderId: string) => shop.payments.createBill({ orderId, amount: '10' });
let count = 0;
/** Creates bills one after the other until one goes out on a kept connection, which is returned. */
const onKept = (): Promise<Connection> =>
  until(
    async () => {
      const orderId = `next-${(count += 1)}`;
      await create(orderId);
      return connections.find(({ orders }) => orders.length > 1 && orders.at(-1) === orderId);
    },
    (connection) => connection !== undefined,
  ) as Promise<Connection>;

describe('the connections of creations', () => {
  beforeAll(async () => {
    server = createServer((request, response) => {
      const { socket } = request;
      let body = '';
      together = Math.max(together, under.has(socket) ? 2 : 1);
      under.add(socket);
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        const orderId = /name="order_id"\r\n\r\n([^\r]+)/.exec(body)?.[1] ?? '';
        connections.find((each) => each.socket === socket)?.orders.push(orderId);
        if (instead) return instead(socket);
        response.once('close', () => under.delete(socket));
        const link = `https://pay.example/${orderId}`;
        response.end(JSON.stringify({ success: 'true', bill_id: orderId, link_url: link, link_page_url: link }));
      });
    });
    server.on('connection', (socket: Socket) => connections.push({ socket, orders: [] }));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    harness = await startHarness();
    const { port } = server.address() as AddressInfo;
    shop = await harness.start({ options: { shops: moduleOptions(`http://127.0.0.1:${port}`).shops } });
  });
  afterEach(() => {
    instead = undefined;
  });
  afterAll(async () => {
    await harness.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test('a creation reuses the connection of an earlier one, and a connection carries one creation at a time', async () => {
    await onKept();
    await Promise.all(Array.from({ length: 20 }, (_, index) => create(`crowd-${index}`)));
    const crowded = connections.filter(({ orders }) => orders.some((orderId) => orderId.startsWith('crowd-')));
    expect(crowded.length).toBeGreaterThan(1);
    expect(together).toBe(1);
  });

  test('a creation whose kept connection is reset after it was read is unknown, and is not sent again', async () => {
    await onKept();
    instead = (socket) => socket.resetAndDestroy();
    await expect(create('reset')).rejects.toBeInstanceOf(PaymentUnknownOutcomeError);
    const sent = connections.flatMap(({ orders }) => orders);
    expect(sent.filter((orderId, index) => sent.indexOf(orderId) !== index)).toEqual([]);
  });

  test('a kept connection that the service has closed costs no creation anything', async () => {
    await onKept();
    const ended = [...connections];
    const before = ended.map(({ orders }) => orders.length);
    for (const { socket } of ended) socket.resetAndDestroy();
    expect((await create('after-the-end')).billId).toBe('after-the-end');
    expect(ended.map(({ orders }) => orders.length)).toEqual(before);
  });

  test('an application that shuts down closes its kept connections', async () => {
    await create('before-the-shutdown');
    await shop.app.close();
    await until(
      () =>
        new Promise((resolve: (are: boolean) => void) =>
          setImmediate(() => resolve(connections.every(({ socket }) => socket.destroyed))),
        ),
      (are) => are,
    );
  });
});
