import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import type { LogLine, ReceivedRequest } from 'nestjs-payment-sandbox';
import { answerOf, Fixture, OTHER_TOKEN, TOKEN } from './fixture.js';

/** Requests to the API, as the sandbox shows them to the developer of a client. */
describe('requests', () => {
  let fixture: Fixture;
  let lines: LogLine[];
  beforeAll(async () => {
    fixture = await Fixture.open({ log: (line) => lines.push(line) });
  });
  afterAll(() => fixture.close());
  beforeEach(() => {
    lines = [];
  });
  afterEach(() => fixture.sandbox.clearFaults());

  const all = async (): Promise<ReceivedRequest[]> =>
    JSON.parse((await fixture.control('GET', '/requests')).text) as ReceivedRequest[];
  const last = async () => (await all()).at(-1)!;
  const form = (fields: Record<string, string>): RequestInit => ({ method: 'POST', body: new URLSearchParams(fields) });
  const create = (fields: Record<string, string>, token?: string) =>
    fixture.call('/api/v1/bill/create', form(fields), token);
  const page = async (path = '') => {
    const { text, status } = await fixture.call(`/sandbox/console/requests${path}`);
    return { status, text: text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ') };
  };

  test('an accepted request is stored with its headers, body and answer', async () => {
    const { json, text } = await create({ amount: '5', order_id: 'o-1' });
    const billId = json['bill_id'];
    const kept = await last();
    expect(kept).toMatchObject({
      method: 'POST',
      address: '/api/v1/bill/create',
      operation: 'create',
      shopId: 'main',
      orderId: 'o-1',
      billId,
      body: 'amount=5&order_id=o-1',
      bodyBytes: 21,
      problem: null,
      status: 200,
      answer: text,
      durationMs: expect.any(Number),
    });
    expect(kept.headers).toContainEqual({ name: 'authorization', value: 'Bearer toke…' });
    expect(lines).toEqual([{ at: kept.at, text: 'POST bill/create main o-1: 200', problem: false }]);
    await fixture.payments(billId as string);
    expect(lines.at(-1)!.text).toBe(`GET bill/payments main ${billId as string}: 200`);
  });

  test.each<[string, string, RequestInit, string]>([
    ['//', '//api//v1/bill/create', form({ amount: '5', shop_id: 'main' }), 'an address with //'],
    [
      'a slash at its end',
      '/api/v1/bill/create/',
      form({ amount: '5', shop_id: 'main' }),
      'an address with a trailing slash',
    ],
    ['upper case', '/api/v1/Bill/Create', form({ amount: '5', shop_id: 'main' }), 'an address not spelled bill'],
    [
      'another charset',
      '/api/v1/bill/create',
      {
        method: 'POST',
        body: 'amount=5&shop_id=main&custom=%E7',
        headers: { 'content-type': 'application/x-www-form-urlencoded; charset=windows-1251' },
      },
      'a body that is read as UTF-8 though it says "windows-1251"',
    ],
    [
      'JSON as text',
      '/api/v1/bill/create',
      { method: 'POST', body: '{"amount":5,"shop_id":"main"}', headers: { 'content-type': 'text/plain' } },
      'JSON as "text/plain"',
    ],
  ])('a request with %s is accepted, with a note that the service may not', async (_what, address, init, remark) => {
    expect((await fixture.call(address, init)).status).toBe(200);
    const kept = await last();
    expect(kept.problem).toBeNull();
    expect(kept.remark).toMatch(remark);
    expect(kept.remark).toMatch(/^accepted here, but perhaps not by the service: /);
  });

  test('a compressed body is refused with a reason', async () => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
    const { status, text: answer } = await fixture.call('/api/v1/bill/create', {
      method: 'POST',
      body: gzipSync('{"amount":5}'),
      headers: { ...headers, authorization: `Bearer ${TOKEN}` },
    });
    expect([status, answer]).toEqual([400, expect.stringContaining('Content-Encoding gzip is not supported')]);
  });

  test('TLS to the plain port is shown and logged', async () => {
    await expect(fetch(fixture.url.replace('http:', 'https:'))).rejects.toThrow();
    const problem = 'TLS on a port that speaks plain HTTP: the base address in the client must start with http://';
    expect(await last()).toMatchObject({ method: 'TLS', problem, status: null });
    expect(lines.at(-1)).toMatchObject({ text: `TLS ClientHello: no answer, ${problem}`, problem: true });
  });

  test('a request whose address is not percent-encoded is answered, shown and logged', async () => {
    const socket = connect(Number(new URL(fixture.url).port), '127.0.0.1');
    socket.end('POST /api/v1/bill/create?amount=1&description=оплата HTTP/1.1\r\nHost: sandbox\r\n\r\n');
    const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/json\r\n/);
    expect(JSON.parse(body)).toEqual({ message: expect.stringContaining('percent-encoded'), success: false });
    expect(await last()).toMatchObject({ method: 'POST', problem: expect.stringContaining('%C3%A9'), status: 400 });
    expect(lines.at(-1)).toMatchObject({ text: expect.stringContaining('POST'), problem: true });
  });

  test('data that is not HTTP is answered as Node.js does', async () => {
    const socket = connect(Number(new URL(fixture.url).port), '127.0.0.1');
    socket.end('nonsense\r\n\r\n');
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
  });

  test('a refused creation appears on the page of bills, with a link to the setting that would accept it', async () => {
    const { text: before } = await fixture.call('/sandbox', { headers: { accept: 'text/html' } });
    const refused = Number(/Refused creations<\/span><span[^>]*>(\d+)/.exec(before)?.[1] ?? 0);
    await create({ amount: '1.005', shop_id: 'main' });
    const { text: after } = await fixture.call('/sandbox', { headers: { accept: 'text/html' } });
    expect(after).toMatch(new RegExp(`Refused creations</span><span[^>]*>${refused + 1}<`));
    const { text: shown } = await fixture.call('/sandbox/console/requests?problems');
    expect(shown).toContain('setting <a href="/sandbox/console/shops/main#roundAmounts">roundAmounts</a>');
  });

  test.each<[Record<string, string>, string | null]>([
    [{ shop_id: 'main' }, null],
    [{}, 'shop_id is missing, though the specification lists it among the fields of a bill'],
    [{ shop_id: 'main', currency: 'USD' }, '"currency" is ignored: perhaps currency_in was meant'],
    [
      { shop_id: 'main', orderId: 'o-1', payerPaysCommission: '1' },
      '"orderId" is ignored: perhaps order_id was meant; "payerPaysCommission" is ignored: perhaps payer_pays_commission was meant',
    ],
    [
      { shopId: 'main' },
      '"shopId" is ignored: perhaps shop_id was meant; shop_id is missing, though the specification lists it among the fields of a bill',
    ],
    [
      { shop_id: 'main', success_url: 'https://shop.example' },
      '"success_url" is ignored: the shop’s setting billAddresses enables it',
    ],
    [{ shop_id: 'main', foo: '1' }, '"foo" is ignored'],
    [
      { shop_id: 'main', ...Object.fromEntries(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => [name, ''])) },
      '"a" is ignored; "b" is ignored; "c" is ignored; "d" is ignored; "e" is ignored; so is one more field',
    ],
  ])('an accepted creation with %j has a note if something about it is odd', async (fields, remark) => {
    await create({ amount: '5', ...fields });
    const { id, ...kept } = await last();
    expect(kept).toMatchObject({ status: 200, problem: null, remark });
    if (remark) expect((await page(`/${id}`)).text).toContain(remark.replaceAll('"', '&quot;'));
    expect((await page()).text).toContain((remark ?? 'bill/create').replaceAll('"', '&quot;'));
  });

  test('a request for payments with a misnamed field gets a note', async () => {
    const { json } = await create({ amount: '5', shop_id: 'main' });
    await fixture.call(`/api/v1/bill/payments?id=${String(json['bill_id'])}&shop_id=main&billId=x`);
    expect((await last()).remark).toBe('"billId" is ignored: perhaps id was meant');
  });

  const multipart = (): RequestInit => {
    const body = new FormData();
    body.set('amount', '5');
    return { method: 'POST', body, headers: { 'content-type': 'text/plain' } };
  };

  test.each<[string, string, RequestInit, string | undefined, number, string]>([
    ['no token', '', form({ amount: '5' }), '', 401, 'the Authorization header is "Bearer …"'],
    [
      'an unknown token',
      '',
      form({ amount: '5' }),
      '72|abcdef',
      401,
      'no shop has this bearer token: it starts with 72|…',
    ],
    [
      'an unknown token for a shop that is known',
      '',
      form({ amount: '5', shop_id: 'main' }),
      'wrong-token',
      401,
      'it starts with wro…; that of shop main starts with toke…',
    ],
    ['a token that is not set', '', form({ amount: '5' }), 'undefined', 401, 'is the text "undefined"'],
    [
      'the token of another shop',
      '',
      form({ amount: '5', shop_id: 'main' }),
      OTHER_TOKEN,
      403,
      'bearer token of another shop: starts with toke… and belongs to other, but shop_id is "main"',
    ],
    [
      'a shop that is none',
      '',
      form({ amount: '5', shop_id: '99' }),
      TOKEN,
      403,
      'shop_id is "99", which is not a shop here',
    ],
    ['an amount of three decimals', '', form({ amount: '1.005' }), TOKEN, 400, 'amount has three decimals: "1.005"'],
    ['a floating-point amount', '', form({ amount: '0.3000004' }), TOKEN, 400, 'amount has 7 decimals: "0.3000004"'],
    ['a decimal comma', '', form({ amount: '12,50' }), TOKEN, 400, 'use a decimal point, not a comma'],
    ['a long text', '', form({ amount: `1${'0'.repeat(200_000)}e-1` }), TOKEN, 400, 'amount is not a number: "1000'],
    ['no amount', '', form({ sum: '5', order_id: '1' }), TOKEN, 400, 'amount is missing: got sum, order_id'],
    ['no field at all', '', { method: 'POST' }, TOKEN, 400, 'neither the body nor the query string has any fields'],
    ['a body that is not as its type says', '', multipart(), TOKEN, 400, 'amount is missing: got ------'],
    ['an empty amount', '', form({ amount: '', order_id: '1' }), TOKEN, 400, 'amount is empty'],
    ['thousands with commas', '', form({ amount: '1,250.00' }), TOKEN, 400, 'it must have no thousands separators'],
    ['a plus that is a blank in a form', '', form({ amount: '1e 06' }), TOKEN, 400, 'must be sent as %2B'],
    ['thousands with spaces', '', form({ amount: '1 250.00' }), TOKEN, 400, 'it must have no thousands separators'],
    [
      'an amount with its currency',
      '',
      form({ amount: '10.50 RUB' }),
      TOKEN,
      400,
      'the currency belongs in currency_in',
    ],
    ['a token with "Bearer"', '', form({ amount: '5' }), `Bearer ${TOKEN}`, 401, 'has "Bearer" twice'],
    ['a token in quotes', '', form({ amount: '5' }), `"${TOKEN}"`, 401, 'the bearer token is in quotes'],
    [
      'JSON as a form',
      '',
      { ...form({}), body: '{"amount":"5"}', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
      TOKEN,
      400,
      'the body is JSON, but was sent as a form',
    ],
    [
      'a form as JSON',
      '',
      { method: 'POST', body: 'amount=5', headers: { 'content-type': 'application/json' } },
      TOKEN,
      400,
      'it is a form, so its Content-Type must say so',
    ],
    [
      'a letter too few',
      '/api/v1/bill/payment?id=1',
      {},
      TOKEN,
      404,
      'perhaps bill/payments was meant, at /api/v1/bill/payments',
    ],
    ['broken JSON', '', { method: 'POST', body: '{"amount":' }, TOKEN, 400, 'The body is not valid JSON'],
    [
      'a wrong token with it',
      '',
      { method: 'POST', body: '{"amount":' },
      'other',
      401,
      'no shop has this bearer token',
    ],
    ['a currency that is none', '', form({ amount: '5', currency_in: 'XXX' }), TOKEN, 400, 'currency_in is "XXX"'],
    [
      'a neighbour',
      '/api/v1/bill/status?id=1',
      {},
      TOKEN,
      404,
      'not part of this interface: bill/status; GET /api/v1/bill/payments?id=…',
    ],
    ['a wrong method', '/api/v1/bill/create', {}, TOKEN, 404, 'bill/create takes POST, not GET'],
    ['an address without its beginning', '/bill/create', form({}), TOKEN, 404, 'it is at /api/v1/bill/create'],
    ['a wrong address', '/v2/anything', {}, TOKEN, 404, 'not part of this interface: v2/anything'],
    ['a list without an id', '/api/v1/bill/payments', {}, TOKEN, 400, 'id is missing: neither'],
    ['a bill that is none', '/api/v1/bill/payments?id=x', {}, TOKEN, 403, 'there is no bill "x"'],
  ])('the page, the JSON and the log say what was wrong: %s', async (_what, path, init, token, status, why) => {
    const { status: answered } = await fixture.call(path || '/api/v1/bill/create', init, token);
    const kept = await last();
    expect([answered, kept.status, kept.problem]).toEqual([status, status, expect.stringContaining(why)]);
    expect(lines).toEqual([expect.objectContaining({ problem: true, text: expect.stringContaining(`${status}, `) })]);
    expect(lines[0]!.text).toContain(why);
    const escaped = why.replaceAll('"', '&quot;');
    expect((await page()).text).toContain(escaped);
    expect((await page('?problems')).text).toContain(escaped);
    expect((await page(`/${kept.id}`)).text).toContain(escaped);
  });

  test("a request for another shop's bill is refused as unknown, and only the console says whose it is", async () => {
    const billId = await fixture.bill();
    expect((await fixture.payments(billId, OTHER_TOKEN)).json['message']).toBe('api:error.bill_not_found');
    expect((await last()).problem).toBe(
      `the bill ${billId} belongs to the shop main; the bearer token belongs to other`,
    );
  });

  test('a request without an Authorization header is noted as such', async () => {
    await answerOf(await fetch(`${fixture.url}/api/v1/bill/create`, form({ amount: '5' })));
    expect((await last()).problem).toContain('no Authorization header: it must be');
    await answerOf(await fetch(`${fixture.url}/api/v1/bill/create?api_token=x`, form({ amount: '5' })));
    expect((await last()).problem).toContain('no Authorization header, but a field "api_token": it must be');
  });

  test('requests to unknown routes are answered as errors, and known but undocumented ones explained', async () => {
    const unknown = await fixture.call('/v2/anything');
    expect([unknown.status, unknown.json]).toEqual([404, { message: 'Not Found', success: false }]);
    for (const name of ['bill/status', 'bill/search', 'payment/search', 'merchant/balance', 'bill/toggle_activity']) {
      const { status, json } = await fixture.call(`/api/v1/${name}`, { method: 'POST' });
      expect([status, json]).toEqual([
        404,
        { message: expect.stringContaining(`${name} is outside the documented interface`), success: false },
      ]);
    }
  });

  test('a request that met a fault names it', async () => {
    await fixture.sandbox.setFaults({ requests: { loseAnswer: 1 } });
    await fixture.create().catch(() => undefined);
    expect(await last()).toMatchObject({
      status: null,
      answer: null,
      faults: ['loseAnswer'],
      problem: 'caused by the fault loseAnswer',
    });
    await fixture.sandbox.setFaults({ requests: { unauthenticated: 1 } });
    await fixture.create();
    expect(await last()).toMatchObject({ status: 401, problem: 'caused by the fault unauthenticated' });
  });

  test('no token, password or card number of a request is stored or logged', async () => {
    const secrets = { custom: TOKEN, api_token: 'a-secret-value', note: '4111 1111 1111 1111' };
    await create({ amount: '5', order_id: TOKEN, ...secrets });
    await fixture.call(`/api/v1/bill/create?token=${OTHER_TOKEN}`, { method: 'POST' }, 'another-wrong-token');
    const kept = JSON.stringify((await all()).slice(-2));
    for (const secret of [TOKEN, OTHER_TOKEN, 'a-secret-value', '4111 1111', '4111+1111', 'another-wrong-token']) {
      expect(kept).not.toContain(secret);
    }
    expect(lines.map(({ text }) => text).join()).not.toContain(TOKEN);
  });

  test('nothing in a request can control the terminal', async () => {
    await create({ amount: '5', order_id: 'a\u001b[31m\r\nb\u202e' });
    expect(lines[0]!.text).toBe('POST bill/create main a [31m b : 200');
  });

  test('stored requests are bounded in size and number, and paged', async () => {
    const before = await last();
    await create({ amount: '5', custom: 'x'.repeat(100_000) });
    const kept = (await last()).body;
    expect(Buffer.byteLength(kept)).toBe(8 * 1024);
    const { text } = await fixture.control('GET', `/requests?after=${before.id}`);
    expect(JSON.parse(text)).toHaveLength(1);
    expect((await fixture.control('GET', '/requests?after=x')).status).toBe(400);
    for (let round = 0; round < 13; round += 1)
      await Promise.all(Array.from({ length: 40 }, () => raw('/api/v1/none')));
    expect(await all()).toHaveLength(500);
    expect((await page(`/${before.id}`)).status).toBe(404);
    expect((await page()).text).toContain('Older requests');
  });

  function raw(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      httpRequest(`${fixture.url}${path}`, (response) => response.resume().on('end', resolve))
        .on('error', reject)
        .end();
    });
  }
});
