import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import axios from 'axios';
import { gzipSync } from 'node:zlib';
import { Recorder } from '../../../../test/support/recorder.js';
import { closeTransports, transport } from '../../../../test/support/transports.js';

let recorder: Recorder;

describe('transport', () => {
  beforeAll(async () => {
    recorder = await new Recorder().open();
  });
  afterAll(async () => {
    closeTransports();
    await recorder.close();
  });

  describe('the size of an answer', () => {
    const send = () => transport().send({ method: 'GET', url: `${recorder.url}/`, token: 'a-token' });

    test('an answer up to the size limit is read, compressed or not', async () => {
      recorder.answer(
        { body: 'x'.repeat(10_000) },
        { body: gzipSync('y'.repeat(10_000)), headers: { 'content-encoding': 'gzip' } },
      );
      expect((await send()).text).toBe('x'.repeat(10_000));
      expect((await send()).text).toBe('y'.repeat(10_000));
    });

    test('an answer beyond the size limit is cut: with a length, without one, or as a gzip bomb', async () => {
      const bomb = gzipSync(Buffer.alloc(50_000_000));
      expect(bomb.length).toBeLessThan(60_000);
      recorder.answer(
        { body: 'x'.repeat(10_001) },
        (_request, response) => response.writeHead(200, { 'transfer-encoding': 'chunked' }).end('x'.repeat(10_001)),
        { body: bomb, headers: { 'content-encoding': 'gzip' } },
      );
      for (let answer = 0; answer < 3; answer += 1) {
        const { text, isCut } = await send();
        expect(isCut).toBe(true);
        // At most one chunk more than the limit.
        expect(text.length).toBeLessThan(10_000 + 65_536);
      }
    });
  });

  test('Axios defaults that the host sets for itself do not affect requests to the service', async () => {
    const client = axios.create({
      timeout: 1,
      auth: { username: 'host', password: 'secret' },
      params: { key: 'of the host' },
      headers: { 'x-api-key': 'of the host' },
      baseURL: 'http://127.0.0.1:1',
      maxContentLength: 1,
      transformResponse: () => 'changed',
    });
    recorder.answer((_request, response) => setTimeout(() => response.end('as it came'), 20));
    const answer = await transport({}, client).send({ method: 'GET', url: `${recorder.url}/path`, token: 'a-token' });
    expect(answer.text).toBe('as it came');
    const { path, query, headers } = recorder.request;
    expect([path, [...query], headers.authorization, headers['x-api-key']]).toEqual([
      '/path',
      [],
      'Bearer a-token',
      undefined,
    ]);
  });

  test('a request to the service follows no redirect and uses no proxy of the environment', async () => {
    const elsewhere = await new Recorder().open();
    process.env.http_proxy = elsewhere.url;
    try {
      recorder.answer({ status: 302, headers: { location: `${elsewhere.url}/stolen` } });
      const answer = await transport().send({ method: 'GET', url: `${recorder.url}/`, token: 'a-token' });
      expect(answer.status).toBe(302);
      expect([recorder.requests.length, elsewhere.requests.length]).toEqual([1, 0]);
    } finally {
      delete process.env.http_proxy;
      await elsewhere.close();
    }
  });

  test('a read passes the interceptors of the host, whatever they make of it', async () => {
    const client = axios.create();
    const seen: unknown[] = [];
    client.interceptors.response.use((answer) => {
      seen.push([answer.status, answer.headers['content-type'], answer.data, answer.config.url]);
      return answer;
    });
    const sender = transport({}, client);
    const asked: (string | undefined)[] = [];
    recorder.answer((request, response) => {
      asked.push(`${request.url} ${String(request.headers['x-tenant'])} ${request.headers.authorization}`);
      response.setHeader('content-type', 'application/json').end('{"data":"ä"}');
    });
    const url = `${recorder.url}/list?id=b-1`;
    const send = () => sender.send({ method: 'GET', url, token: 'a-token' });
    expect(await send()).toMatchObject({ status: 200, text: '{"data":"ä"}' });
    client.interceptors.request.use((config) => {
      config.headers.set('X-Tenant', 'north');
      config.params = { page: 2 };
      return config;
    });
    expect(await send()).toMatchObject({ status: 200, text: '{"data":"ä"}' });
    expect(asked).toEqual(['/list?id=b-1 undefined Bearer a-token', '/list?id=b-1&page=2 north Bearer a-token']);
    expect(seen).toEqual([0, 1].map(() => [200, 'application/json', '{"data":"ä"}', url]));
  });

  test('reads share a connection, and a creation opens its own', async () => {
    const ports: (number | undefined)[] = [];
    recorder.answer((request, response) => {
      ports.push(request.socket.remotePort);
      response.end('{}');
    });
    const sender = transport();
    const send = (method: 'GET' | 'POST') =>
      sender.send({
        method,
        url: `${recorder.url}/`,
        token: 'a-token',
        fields: method === 'POST' ? {} : undefined,
      });
    for (const method of ['GET', 'GET', 'POST', 'POST'] as const) await send(method);
    expect(ports[1]).toBe(ports[0]);
    expect(new Set(ports).size).toBe(3);
  });
});
