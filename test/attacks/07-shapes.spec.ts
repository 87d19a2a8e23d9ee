import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { postbackFields, redirectFields } from '../support/http.js';
import { ADAPTERS } from '../support/adapters.js';
import { startAttackedShop, TOKENS, type AttackedShop, type Bought } from './support/attacked-shop.js';
import { sendBytes, sendRaw } from './support/sending.js';
import {
  BOMBS,
  type Fields,
  HINTS,
  json,
  MISNAMED,
  nested,
  packed,
  REFUSED,
  type Shape,
  text,
  withMore,
  WRONG_VALUES,
} from './support/shapes.js';

const ROUTES = ['/postback/payment', '/redirect/payment/success', '/redirect/payment/fail'] as const;

describe.each(ADAPTERS)('shapes of bodies, on %s', (adapter) => {
  let shop: AttackedShop;
  let bought: Bought;
  let nothingChanged: () => Promise<void>;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter);
    bought = await shop.buy();
    nothingChanged = await shop.watch();
  });
  afterAll(() => shop.close());

  /** What the service itself could have sent, including the digest. */
  function genuine(route: string): Fields {
    const fields = { InvId: bought.id, OutSum: '100.05', custom: 'cart' };
    return route.startsWith('/postback')
      ? postbackFields({ ...fields, TrsId: bought.billId }, TOKENS.main)
      : redirectFields(fields, TOKENS.main);
  }

  async function attack(route: string, shape: (fields: Fields) => Shape): Promise<number> {
    const { body, type, headers } = shape(genuine(route));
    const sent = sendBytes(shop.url + route, body, type, headers);
    const answer = await sent.catch(() => undefined);
    // A server that hangs up in the middle of a body has refused it. The next attack shows that it is still running.
    if (!answer) return 413;
    const said = await answer.text();
    // An answer says what is wrong, without long quotations or a stack trace.
    expect(said.length).toBeLessThan(5_000);
    expect(said).not.toMatch(/node_modules|\bat .*:\d+:\d+/);
    return answer.status;
  }

  const isRefusal = (status: number): boolean => status >= 400 && status < 500;
  /** The status of every route. */
  async function answers(shape: (fields: Fields) => Shape): Promise<Record<string, number>> {
    const statuses: Record<string, number> = {};
    for (const route of ROUTES) statuses[route] = await attack(route, shape);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(Object.prototype.toString.call({})).toBe('[object Object]');
    return statuses;
  }
  const wrong = (statuses: Record<string, number>, isRight: (status: number) => boolean) =>
    Object.entries(statuses).filter(([, status]) => !isRight(status));

  describe('bodies that are not a callback', () => {
    test.each(REFUSED)(
      'a body that is not a callback is refused, unless it is a postback that names its bill: %s',
      async (_name, shape) => {
        const { [ROUTES[0]]: postback = 0, ...redirects } = await answers(shape);
        expect(wrong(redirects, isRefusal)).toEqual([]);
        expect(postback === 200 || isRefusal(postback)).toBe(true);
      },
    );

    test('bodies that are not a callback are stored at most as hints for the bill they name', async () => {
      await nothingChanged();
      const kept = (await shop.ledger()).callbacks.filter(({ billId }) => billId !== null && billId !== bought.billId);
      expect(kept).toEqual([]);
    });
  });

  test.each(MISNAMED)('a genuine body under another content type is taken for what it is: %s', async (_name, shape) => {
    expect(Object.values(await answers(shape))).toEqual([200, 303, 303]);
  });

  describe('bodies that resemble a genuine callback', () => {
    test.each(HINTS)(
      'a body that resembles a genuine callback is refused or taken as a hint: %s',
      async (_name, shape) => {
        const taken = (status: number): boolean => status === 200 || status === 303;
        expect(wrong(await answers(shape), (status) => taken(status) || isRefusal(status))).toEqual([]);
      },
    );

    test('bodies that resemble a genuine callback store little and change nothing', async () => {
      await nothingChanged();
      const [kept] = await shop.dataSource.query<{ rows: number; bytes: number }[]>(
        'SELECT count(*)::int AS rows, max(length(fields::text)) AS bytes FROM payment_acceptance.callback',
      );
      expect(kept!.rows).toBeGreaterThan(HINTS.length);
      expect(kept!.bytes).toBeLessThan(20_000);
    });
  });

  test('an oversized callback is stored with the fields of the specification alone, chunked or not', async () => {
    const named = genuine(ROUTES[0]);
    const { SignatureValue: _digest, ...stored } = named;
    const small = JSON.stringify({ ...named, note: 'x', custom: { cart: 7 } });
    const large = JSON.stringify({ ...named, note: 'y'.repeat(40_000), custom: { cart: 7 } });
    const kinds = [
      [small, { ...stored, note: 'x', custom: { cart: 7 } }],
      [large, { ...stored, custom: {} }],
      [new Response(small).body, { ...stored, note: 'x', custom: { cart: 7 } }],
      [new Response(large).body, { ...stored, custom: {} }],
    ] as const;
    for (const [body, kept] of kinds) {
      await shop.dataSource.query('DELETE FROM payment_acceptance.callback');
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(shop.url + ROUTES[0], {
        method: 'POST',
        headers,
        body,
        duplex: 'half',
      });
      expect(answer.status).toBe(200);
      const rows = await shop.dataSource.query<{ fields: object }[]>('SELECT fields FROM payment_acceptance.callback');
      expect(rows.map(({ fields }) => fields)).toEqual([kept]);
    }
  });

  test('malformed HTTP is refused by the server, or the connection is closed', async () => {
    const host = `Host: ${new URL(shop.url).host}\r\nConnection: close\r\n`;
    const post = `POST /postback/payment HTTP/1.1\r\n${host}`;
    const requests = [
      '\0\0\0\0\r\n\r\n',
      `${post}Content-Type: application/json\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${post}Content-Type: application/json\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`,
      `${post}Content-Type: application/json\r\nContent-Length: -1\r\n\r\n{}`,
      `${post}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
      `${post}Content-Type: application/json\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
      `${post}X-More: ${'x'.repeat(100_000)}\r\n\r\n`,
      `${post}${'X-More: 1\r\n'.repeat(10_000)}\r\n`,
      `POST /postback/payment/${'x'.repeat(100_000)} HTTP/1.1\r\n${host}\r\n`,
    ];
    for (const request of requests) {
      const answer = await sendRaw(shop.url, request);
      expect(answer === '' || /^HTTP\/1\.[01] 4\d\d /.test(answer) ? 'refused' : answer.slice(0, 200)).toBe('refused');
    }
  });

  test('addresses of impossible shops and tickets are refused', async () => {
    const names = [
      '__proto__', 'constructor', 'toString', 'main%00', 'main%0d%0aSet-Cookie:%20a=b', '..%2f..%2fmain', '%ff', '%',
      'MAIN', 'main%20', '1', '%F0%9F%92%B3', 'x'.repeat(4_000), "main'--", '{}', '*', ':shop',
    ]; // prettier-ignore
    for (const route of ROUTES) {
      for (const name of names) {
        const { body, type } = json(genuine(route));
        const answer = await sendBytes(`${shop.url}${route}/${name}`, body, type);
        expect([name, isRefusal(answer.status), answer.headers.get('set-cookie')]).toEqual([name, true, null]);
      }
    }
    for (const name of names) {
      const answer = await fetch(`${shop.url}/redirect/payment/result/${name}`);
      expect([name, isRefusal(answer.status), answer.headers.get('set-cookie')]).toEqual([name, true, null]);
    }
    await nothingChanged();
  });

  test('malformed JSON orders are refused by the sample shop', async () => {
    const order = { shop: 'main', amount: '100.05', description: 'Two cups' };
    const orders = [
      ...['shop', 'amount', 'description'].flatMap((field) =>
        WRONG_VALUES.filter(([name]) => name !== 'nothing').map(([, value]) => json({ ...order, [field]: value })),
      ),
      ...[[], [order], null, 'text', 7, { ...order, more: 1 }].map(json),
      ...['__proto__', 'constructor', 'prototype'].map((name) => text(`{"${name}":${JSON.stringify(order)}}`)),
      ...['shop', 'amount', 'description'].map((field) => withMore({ ...order, [field]: '' }, `"${field}":${nested(20_000)}`)),
      withMore(order, `"more":${nested(20_000)}`),
      withMore(order, `"description":"${'x'.repeat(10_000_000)}"`),
      ...['1e2', '1,5', '-1', '0', '0.001', '100000000', '1'.repeat(1_000), ' 1', '1\n', '١'].map((amount) => json({ ...order, amount })),
      ...['\0', '', ' ', 'x'.repeat(201)].map((description) => json({ ...order, description })),
      text(JSON.stringify(order).replace('Two', '\\ud800')),
      packed('gzip', BOMBS.gzip),
    ]; // prettier-ignore
    for (const { body, type, headers } of orders) {
      const { status } = await sendBytes(`${shop.url}/api/orders`, body, type, headers);
      expect([String(body).slice(0, 200), isRefusal(status)]).toEqual([String(body).slice(0, 200), true]);
    }
    await nothingChanged();
  });
});
