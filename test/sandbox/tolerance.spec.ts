import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Fixture, TOKEN } from './fixture.js';

/** What clients in the field send. */
describe('tolerance of the sandbox', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open();
  });
  afterAll(() => fixture.close());

  const create = (init: RequestInit, query = '') =>
    fixture.call(`/api/v1/bill/create${query}`, { method: 'POST', ...init });
  const made = async (init: RequestInit, query = '') => {
    const { status, json } = await create(init, query);
    expect(status).toBe(200);
    return fixture.sandbox.bill(json['bill_id'] as string);
  };
  const json = (text: string): RequestInit => ({ body: text, headers: { 'content-type': 'application/json' } });

  /** Sends just these headers, and a body also on a GET. */
  const raw = (method: string, path: string, headers: Record<string, string>, body = '') =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) };
      request(fixture.url, { method, path, headers: { authorization: `Bearer ${TOKEN}`, ...headers, ...length } })
        .on('response', (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => (text += chunk.toString()));
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        })
        .on('error', reject)
        .end(body);
    });

  describe('a creation', () => {
    test('a creation as a form is accepted', async () => {
      const bill = await made({ body: new URLSearchParams({ amount: '5', order_id: 'ü & 1', custom: 'a+b' }) });
      expect(bill).toMatchObject({ amount: '5.00', orderId: 'ü & 1', custom: 'a+b' });
    });

    test('a creation as a form with an object as custom, as PHP and axios encode it, is accepted', async () => {
      const body = new URLSearchParams({ amount: '5', order_id: '1', 'custom[order]': '7', 'custom[user]': 'ü' });
      expect(await made({ body })).toMatchObject({ custom: '{"order":"7","user":"ü"}' });
    });

    test.each([
      [
        'custom[u]=1&custom[cart][id]=5&custom[cart][tags][]=a&custom[cart][tags][]=b',
        '{"u":"1","cart":{"id":"5","tags":["a","b"]}}',
      ],
      ['custom[]=a&custom[]=b', '["a","b"]'],
      ['custom[0][id]=1&custom[1][id]=2', '[{"id":"1"},{"id":"2"}]'],
      ['custom[__proto__][x]=1', '{"__proto__":{"x":"1"}}'],
    ])('a creation as a form with objects and lists as custom is accepted: %s', async (fields, custom) => {
      const body = new URLSearchParams(`amount=5&order_id=1&${fields}`);
      expect(await made({ body })).toMatchObject({ custom });
    });

    test.each([
      ['0.30000000000000004', '0.30'],
      ['19.989999999999998', '19.99'],
      ['100.05000000000001', '100.05'],
    ])('a creation with the floating-point amount %s is accepted', async (sent, amount) => {
      expect((await made(json(`{"amount":${sent},"order_id":"1"}`))).amount).toBe(amount);
      expect((await made({ body: new URLSearchParams({ amount: sent }) })).amount).toBe(amount);
    });

    test('a creation with an absolute address, as to a proxy, is accepted', async () => {
      const { status } = await raw('POST', `${fixture.url}/api/v1/bill/create?amount=5&order_id=whole`, {});
      expect(status).toBe(200);
    });

    test('a creation as a form with a trailing line break is accepted', async () => {
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      expect(await made({ body: 'amount=5&order_id=o-1\r\n', headers: form })).toMatchObject({ orderId: 'o-1' });
    });

    test('a creation as JSON is accepted', async () => {
      expect(await made(json('{"amount":5,"order_id":17}'))).toMatchObject({ amount: '5.00', orderId: '17' });
    });

    test('a creation with every parameter in the query string and no body is accepted', async () => {
      expect(await made({}, '?amount=5&order_id=q')).toMatchObject({ amount: '5.00', orderId: 'q' });
    });

    test('a creation with the same parameters in query and body is accepted', async () => {
      const query = '?amount=5&order_id=q&description=d';
      expect(await made({ body: new URLSearchParams({ amount: '5', order_id: 'q' }) }, query)).toMatchObject({
        amount: '5.00',
        orderId: 'q',
        description: 'd',
      });
    });

    test('a creation with a multipart body as other programs write it is accepted', async () => {
      const body = [
        '--b',
        'Content-Disposition: form-data; name=amount',
        '',
        '12.30',
        '--b',
        'content-disposition: form-data; name="order_id"',
        'Content-Type: text/plain; charset=utf-8',
        'Content-Length: 2',
        '',
        'ж',
        '--b--',
        '',
      ].join('\r\n');
      const answer = await raw(
        'POST',
        '/api/v1/bill/create',
        { 'content-type': 'multipart/form-data; boundary=b;' },
        body,
      );
      expect(answer.status).toBe(200);
      const { bill_id } = JSON.parse(answer.text) as { bill_id: string };
      expect(fixture.sandbox.bill(bill_id)).toMatchObject({ amount: '12.30', orderId: 'ж' });
    });

    test.each([
      [
        'sent as bytes',
        'Content-Disposition: form-data; name="order_id"\r\nContent-Type: application/octet-stream',
        'b',
      ],
      ['without a name', 'Content-Disposition: form-data', ''],
      ['with an empty name', 'Content-Disposition: form-data; name=""', ''],
      ['with a file', 'Content-Disposition: form-data; name="order_id"; filename="f"', ''],
    ])('a creation with a multipart part %s is accepted', async (_how, head, orderId) => {
      const parts = [
        '--b',
        head,
        '',
        'b',
        '--b',
        'Content-Disposition: form-data; name="amount"',
        '',
        '5',
        '--b--',
        '',
      ];
      const type = { 'content-type': 'multipart/form-data; boundary=b' };
      expect(await made({ body: parts.join('\r\n'), headers: type })).toMatchObject({ amount: '5.00', orderId });
      const unsigned = await raw('POST', '/api/v1/bill/create', { ...type, authorization: '' }, parts.join('\r\n'));
      expect(unsigned.status).toBe(401);
    });

    test('a creation with a part in a charset that is not read is refused, instead of losing the value', async () => {
      const part = (head: string, value: string) => ['--b', `Content-Disposition: form-data; ${head}`, '', value];
      const odd = part('name="order_id"\r\nContent-Type: text/plain; charset=windows-1251', 'order-7');
      const body = [...odd, ...part('name="amount"', '5'), '--b--', ''].join('\r\n');
      const answer = await raw(
        'POST',
        '/api/v1/bill/create',
        { 'content-type': 'multipart/form-data; boundary=b' },
        body,
      );
      expect([answer.status, answer.text]).toEqual([
        400,
        expect.stringContaining('a part in a charset other than UTF-8'),
      ]);
    });

    test('a creation without Accept, User-Agent and Content-Type is accepted', async () => {
      const answer = await raw('POST', '/api/v1/bill/create', {}, 'amount=5&order_id=1');
      expect(answer.status).toBe(200);
    });

    test.each([
      ['100', '100.00'],
      ['100.05', '100.05'],
      ['100.050', '100.05'],
      ['1e+06', '1000000.00'],
      ['1.0005E+02', '100.05'],
      ['5e-1', '0.50'],
    ])('a creation with the amount %s is accepted, as text and as a JSON number', async (sent, amount) => {
      expect((await made({ body: new URLSearchParams({ amount: sent }) })).amount).toBe(amount);
      expect((await made(json(`{"amount":${sent}}`))).amount).toBe(amount);
      expect((await made(json(`{"amount":"${sent}"}`))).amount).toBe(amount);
    });

    test('a creation with null for unset fields is accepted', async () => {
      const nulls = '"order_id":null,"description":null,"currency_in":null,"custom":null,"payer_pays_commission":null';
      expect(await made(json(`{"amount":5,${nulls},"type":null,"name":null,"shop_id":null}`))).toMatchObject({
        orderId: '',
        currency: 'RUB',
        custom: null,
        payerPaysCommission: false,
        type: 'normal',
      });
    });

    test.each([
      ['1', true],
      ['"1"', true],
      ['true', true],
      ['"true"', true],
      ['"True"', true],
      ['1.0', true],
      ['0.0', false],
      ['0', false],
      ['"0"', false],
      ['false', false],
      ['"false"', false],
      ['""', false],
    ])('a creation with payer_pays_commission %s is accepted', async (sent, meant) => {
      const bill = await made(json(`{"amount":5,"payer_pays_commission":${sent}}`));
      expect(bill.payerPaysCommission).toBe(meant);
    });

    test.each([
      ['"text"', 'text'],
      ['"{\\"a\\":1}"', '{"a":1}'],
      ['{"a":1,"b":["x",null]}', '{"a":1,"b":["x",null]}'],
      ['[1,2]', '[1,2]'],
      ['{"user": 12345678901234567890, "7": 100.00}', '{"user":12345678901234567890,"7":100.00}'],
      ['7', '7'],
      ['""', ''],
    ])('a creation with the custom %s is accepted', async (sent, kept) => {
      expect((await made(json(`{"amount":5,"custom":${sent}}`))).custom).toBe(kept);
    });

    test('a creation with unknown fields is accepted', async () => {
      const fields = ['ttl', 'success_url', 'fail_url', 'return_url', 'locale', 'payer_email', 'payer_data[email]'];
      const form = new FormData();
      form.set('amount', '5');
      for (const name of [...fields, 'payment_method', 'items[0][name]', '__proto__[x]']) form.set(name, 'x');
      await made({ body: form });
      await made(json(`{"amount":5,"deep":${'['.repeat(50_000)}${']'.repeat(50_000)}}`));
      await made(json('{"amount":5,"payer_data":{"email":"x"},"items":[{"name":"x"}],"__proto__":{"x":1}}'));
    });
  });

  describe('the list of payments', () => {
    test.each([
      ['a JSON body', 'application/json', (id: string) => JSON.stringify({ id })],
      ['a form body', 'application/x-www-form-urlencoded', (id: string) => `id=${id}`],
    ])('a list of payments is accepted with the id in %s of the GET', async (_where, type, body) => {
      const id = await fixture.bill();
      const answer = await raw('GET', '/api/v1/bill/payments', { 'content-type': type }, body(id));
      expect(answer).toEqual({ status: 200, text: '{"data":[],"success":true}' });
    });

    test('a list of payments is accepted with Content-Type application/json and no body', async () => {
      const path = `/api/v1/bill/payments?id=${await fixture.bill()}`;
      expect((await raw('GET', path, { 'content-type': 'application/json' })).status).toBe(200);
    });
  });

  describe('unusual addresses', () => {
    test.each(['//api/v1/bill/create', '/api/v1/bill/create/', '//api//v1///bill/create//'])(
      'a creation is accepted at %s',
      async (path) => {
        const { status, json: body } = await fixture.call(`${path}?amount=5`, { method: 'POST' });
        expect([status, body['success']]).toEqual([200, 'true']);
      },
    );

    test('the address / redirects to the console', async () => {
      const { status, headers } = await fixture.call('/');
      expect([status, headers.get('location')]).toEqual([302, '/sandbox']);
    });
  });

  describe('invalid input', () => {
    test.each([
      ['broken JSON', json('{"amount":')],
      ['JSON that is no object', json('[1]')],
      ['a multipart body without a boundary', { body: 'x', headers: { 'content-type': 'multipart/form-data' } }],
      [
        'a torn multipart body',
        { body: '--b\r\nConte', headers: { 'content-type': 'multipart/form-data; boundary=b' } },
      ],
      [
        'a multipart body that ends in a file',
        {
          body: '--b\r\nContent-Disposition: form-data; name="f"; filename="x"\r\n\r\nhello',
          headers: { 'content-type': 'multipart/form-data; boundary=b' },
        },
      ],
      [
        'a multipart body that ends in bytes',
        {
          body: '--b\r\nContent-Disposition: form-data; name="f"\r\nContent-Type: application/octet-stream\r\n\r\nhello',
          headers: { 'content-type': 'multipart/form-data; boundary=b' },
        },
      ],
      ['no body', {}],
      ['a body above 1 MiB', { body: new URLSearchParams({ amount: '5', custom: 'x'.repeat(1024 * 1024) }) }],
      ['an unknown currency', { body: new URLSearchParams({ amount: '5', currency_in: 'XXX' }) }],
      ['an unknown flag', { body: new URLSearchParams({ amount: '5', payer_pays_commission: 'maybe' }) }],
      ['a flag that every object has', json('{"amount":5,"payer_pays_commission":"constructor"}')],
    ])('a creation with %s is answered 400', async (_what, init) => {
      const { status, json: body, headers } = await create(init);
      expect(status).toBe(400);
      expect(headers.get('content-type')).toBe('application/json');
      expect(body).toMatchObject({ success: false, message: expect.stringMatching(/./) });
    });

    test('a list of payments without an id is answered 400', async () => {
      expect((await fixture.call('/api/v1/bill/payments')).status).toBe(400);
    });
  });
});
