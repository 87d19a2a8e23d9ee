import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { get as httpGet, request as httpRequest } from 'node:http';
import { LocalOnlyGuard } from '../../libs/payment-sandbox/src/console/local-only.guard.js';
import { type Answer, Fixture } from './fixture.js';

describe('access to the console', () => {
  let fixture: Fixture;
  beforeAll(async () => {
    fixture = await Fixture.open();
  });
  afterAll(() => fixture.close());

  const submit = (path: string, form: Record<string, string> = {}, headers = {}): Promise<Answer> =>
    fixture.call(`/sandbox/console/${path}`, { method: 'POST', body: new URLSearchParams(form), headers });

  /** With any Host, which fetch does not allow. */
  function statusFor(path: string, host: string, method = 'GET'): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      httpRequest(`${fixture.url}${path}`, { method, headers: { host } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
  }

  test.each(['evil.test', '127.0.0.1.evil.test', 'localhost.evil.test', 'a b', '127.0.0.1@evil.test'])(
    'a request for the host name %j is refused, as it may be DNS rebinding',
    async (host) => {
      for (const path of ['/sandbox', '/sandbox/shops', '/sandbox/console/shops', '/sandbox/console/faults']) {
        expect([path, await statusFor(path, host)]).toEqual([path, 403]);
      }
      expect(await statusFor('/sandbox/clock', host, 'POST')).toBe(403);
    },
  );

  test.each(['localhost', '127.0.0.1:4010', '[::1]:4010', 'LOCALHOST:80'])(
    "a request for this machine's host name %s is accepted",
    async (host) => {
      expect(await statusFor('/sandbox/shops', host)).toBe(200);
    },
  );

  test('payers reach their pages, style and scripts under any host name', async () => {
    const billId = await fixture.bill();
    for (const path of [`/transfer/${billId}`, '/sandbox/assets/style.css', '/sandbox/assets/card.js']) {
      expect([path, await statusFor(path, 'pay.test')]).toEqual([path, 200]);
    }
  });

  test('another machine may use the console only under a configured host name', () => {
    const from = (remoteAddress: string, host: string, controlHosts?: string[]) => {
      const request = { method: 'GET', headers: { host }, socket: { remoteAddress } };
      const context = { switchToHttp: () => ({ getRequest: () => request }) };
      const guard = new LocalOnlyGuard(controlHosts ? { controlHosts } : {});
      return () => guard.canActivate(context as never);
    };
    expect(from('::ffff:127.0.0.1', 'localhost')()).toBe(true);
    expect(from('::1', '[::1]:4010')()).toBe(true);
    expect(from('10.0.0.7', 'localhost')).toThrow('only from this machine');
    expect(from('::ffff:10.0.0.7', 'localhost')).toThrow('only from this machine');
    expect(from('10.0.0.7', 'sandbox:4010', ['sandbox'])()).toBe(true);
    expect(from('10.0.0.7', 'Dev-Box.test:4010', ['Dev-Box.test:80'])()).toBe(true);
    expect(from('10.0.0.7', '', ['', 'not a name'])).toThrow('only from this machine');
    expect(from('10.0.0.7', 'evil.test', ['sandbox'])).toThrow('does not accept the host name "evil.test"');
  });

  test.each([
    [{ origin: 'https://evil.test' }],
    [{ origin: 'null' }],
    [{ origin: 'http://127.0.0.1:1' }],
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
  ])('a page of another site reads and changes nothing: %j', async (headers) => {
    const billId = await fixture.bill();
    expect((await submit(`bills/${billId}/pay`, { card: '4111111111111111' }, headers)).status).toBe(403);
    expect((await submit('faults/postbacks/drop', { on: 'yes' }, headers)).status).toBe(403);
    for (const [method, path] of [
      ['POST', `/bills/${billId}/pay`],
      ['POST', '/clock'],
      ['PUT', '/faults'],
      ['DELETE', '/faults'],
      ['PUT', '/shops/main'],
    ] as const) {
      const answer = await fixture.call(`/sandbox${path}`, { method, body: '{}', headers });
      expect([path, answer.status]).toEqual([path, 403]);
    }
    expect(fixture.sandbox.bill(billId).payments).toEqual([]);
    expect(fixture.sandbox.faults()).toEqual({});
    for (const path of ['', '/shops', '/requests', '/console/shops']) {
      expect([path, (await fixture.call(`/sandbox${path}`, { headers })).status]).toEqual([path, 403]);
    }
  });

  test('a link on another site leads to the console', async () => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' };
    const answer = await new Promise<number | undefined>((resolve, reject) => {
      httpGet(`${fixture.url}/sandbox/console/shops`, { headers }, ({ statusCode }) => resolve(statusCode)).on(
        'error',
        reject,
      );
    });
    expect(answer).toBe(200);
  });

  test("the console's own pages, and programs, may change things", async () => {
    const billId = await fixture.bill();
    const own = { origin: fixture.url, 'sec-fetch-site': 'same-origin' };
    const answer = await submit(`bills/${billId}/pay`, { card: '4111111111111111' }, own);
    expect([answer.status, answer.headers.get('location')]).toEqual([
      303,
      expect.stringMatching(`^/sandbox/console/bills/${billId}#payment-`),
    ]);
    expect((await fixture.control('POST', `/bills/${billId}/pay`, {})).status).toBe(200);
  });
});
