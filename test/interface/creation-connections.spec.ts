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
/** What the service does instead of answering. */
let instead: ((socket: Socket) => void) | undefined;

const create = (orderId: string) => shop.payments.createBill({ orderId, amount: '10' });
const waiting = (): Connection[] =>
  connections.filter(({ socket, orders }) => orders.length === 0 && !socket.destroyed);
const seen = (what: () => boolean): Promise<boolean> =>
  until(
    () => new Promise((resolve) => setImmediate(() => resolve(what()))),
    (is) => is,
  );

describe('the connections of creations', () => {
  beforeAll(async () => {
    server = createServer((request, response) => {
      const { socket } = request;
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => (body += text));
      request.on('end', () => {
        const orderId = /name="order_id"\r\n\r\n([^\r]+)/.exec(body)?.[1] ?? '';
        connections.find((each) => each.socket === socket)?.orders.push(orderId);
        if (instead) return instead(socket);
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

  test('a creation goes out on a connection that was open before it and never used; each carries exactly one', async () => {
    await create('first');
    await seen(() => waiting().length === 1);
    const [opened] = waiting();
    await create('second');
    expect(opened?.orders).toEqual(['second']);
    await Promise.all(Array.from({ length: 20 }, (_, index) => create(`crowd-${index}`)));
    const used = connections.map(({ orders }) => orders.length).filter((count) => count > 0);
    expect(used).toEqual(Array.from({ length: 22 }, () => 1));
  });

  test('reset after it was read, its outcome is unknown as on a fresh one, and it is not sent again', async () => {
    await create('before-the-reset');
    await seen(() => waiting().length > 0);
    const [opened] = waiting();
    instead = (socket) => socket.resetAndDestroy();
    await expect(create('reset')).rejects.toBeInstanceOf(PaymentUnknownOutcomeError);
    expect(opened?.orders).toEqual(['reset']);
    expect(connections.flatMap(({ orders }) => orders).filter((orderId) => orderId === 'reset')).toHaveLength(1);
  });

  test('ended by the service before its use, it costs no creation anything', async () => {
    await create('before-the-end');
    await seen(() => waiting().length > 0);
    const ended = waiting();
    for (const { socket } of ended) socket.resetAndDestroy();
    expect((await create('after-the-end')).billId).toBe('after-the-end');
    expect(ended.flatMap(({ orders }) => orders)).toEqual([]);
  });

  test('an application that shuts down closes those that it has', async () => {
    await create('before-the-shutdown');
    await seen(() => waiting().length > 0);
    const left = waiting();
    await shop.app.close();
    await seen(() => left.every(({ socket }) => socket.destroyed));
  });
});
