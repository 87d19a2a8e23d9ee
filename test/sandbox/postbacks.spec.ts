import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createServer, type AddressInfo } from 'node:net';
import { Fixture, OTHER_TOKEN, ShopServer, StillClock } from './fixture.js';

describe('postbacks', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await Fixture.open({ clock: new StillClock() });
  });
  afterEach(() => fixture.close());

  const paid = async () => {
    const billId = await fixture.bill();
    await fixture.sandbox.pay(billId);
    await fixture.sandbox.settled();
    return billId;
  };
  const callback = (billId: string) => fixture.sandbox.bill(billId).callbacks[0]!;

  test('a postback answered 200 is sent once, and its answer is stored', async () => {
    fixture.shopServer.body = `OK${'.'.repeat(3_000)}`;
    const { id, state, tries, nextTryAt } = callback(await paid());
    expect(id).toMatch(/^\w{8,}$/);
    expect([state, nextTryAt]).toEqual(['delivered', null]);
    expect(tries).toEqual([
      {
        at: '2026-11-21T12:00:00.000Z',
        url: `${fixture.shopServer.url}/result`,
        format: 'json',
        status: 200,
        body: expect.stringMatching(/^OK\.{1022}$/),
        error: null,
        durationMs: expect.any(Number),
      },
    ]);
    await fixture.sandbox.advanceClock('30d');
    expect(fixture.shopServer.requests).toHaveLength(1);
  });

  test.each([201, 204, 202, 302, 400, 500])('a postback answered %i is sent again after 10 s', async (status) => {
    fixture.shopServer.statuses = [status];
    const billId = await paid();
    expect(callback(billId)).toMatchObject({ state: 'pending', nextTryAt: '2026-11-21T12:00:10.000Z' });
    await fixture.sandbox.advanceClock('9s');
    expect(fixture.shopServer.requests).toHaveLength(1);
    await fixture.sandbox.advanceClock('1s');
    expect(callback(billId)).toMatchObject({ state: 'delivered', tries: [{ status }, { status: 200 }] });
    expect(fixture.shopServer.requests.map(({ url }) => url)).toEqual(['/result', '/result']); // no redirect followed
    expect(new Set(fixture.shopServer.requests.map(({ body }) => body)).size).toBe(1);
  });

  test('a postback is given up after five more attempts, 10 to 100000 s apart', async () => {
    fixture.shopServer.statuses = Array.from({ length: 9 }, () => 500);
    const billId = await paid();
    await fixture.sandbox.advanceClock('3d');
    const { state, tries } = callback(billId);
    const seconds = tries.map(({ at }) => (Date.parse(at) - Date.parse('2026-11-21T12:00:00Z')) / 1000);
    expect(seconds).toEqual([0, 10, 110, 1_110, 11_110, 111_110]);
    expect(state).toBe('givenUp');
    expect(fixture.sandbox.now()).toBe('2026-11-24T12:00:00.000Z');
  });

  test('a status counts that has arrived, whatever becomes of the body', async () => {
    const impatient = await Fixture.open({ postbackTimeout: '200ms' });
    const shop = createServer((socket) => {
      socket
        .on('data', () => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n'))
        .on('error', () => undefined);
    });
    try {
      await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
      const { port } = shop.address() as AddressInfo;
      await impatient.sandbox.putShop('main', { resultUrl: `http://127.0.0.1:${port}/` });
      const billId = await impatient.bill();
      await impatient.sandbox.pay(billId);
      await impatient.sandbox.settled();
      expect(impatient.sandbox.bill(billId).callbacks).toMatchObject([
        { state: 'delivered', tries: [{ status: 200 }] },
      ]);
    } finally {
      await impatient.close();
      shop.close();
    }
  });

  test('a shop that does not answer leaves postbacks of other shops a place', async () => {
    let open = (): void => undefined;
    fixture.shopServer.gate = new Promise((resolve) => (open = resolve));
    const other = await new ShopServer().open();
    try {
      await fixture.sandbox.putShop('other', { resultUrl: `${other.url}/result` });
      const billId = await fixture.bill();
      for (let count = 0; count < 40; count += 1) await fixture.sandbox.pay(billId);
      const answer = await fixture.create({}, OTHER_TOKEN);
      await fixture.sandbox.pay(answer.json['bill_id'] as string);
      await other.received();
      expect(fixture.shopServer.requests.length).toBeLessThanOrEqual(16);
    } finally {
      open();
      await fixture.sandbox.settled();
      await other.close();
    }
    expect(fixture.shopServer.requests).toHaveLength(40);
  });

  test("a postback waits for the shop's answer no longer than the time limit", async () => {
    const impatient = await Fixture.open({ postbackTimeout: '50ms' });
    try {
      impatient.shopServer.gate = new Promise(() => undefined);
      const billId = await impatient.bill();
      await impatient.sandbox.pay(billId);
      await impatient.sandbox.settled();
      expect(impatient.sandbox.bill(billId).callbacks).toMatchObject([
        { state: 'pending', tries: [{ status: null, body: '', error: 'no answer within 50 ms' }] },
      ]);
    } finally {
      await impatient.close();
    }
  });

  test.each([
    [' HTTP://127.0.0.1:1/result', 'ECONNREFUSED'],
    ['HTTPS://127.0.0.1:1/result', 'ECONNREFUSED'],
    ['http://user:%zz@127.0.0.1:1/result', 'URI malformed'],
  ])('a postback to the unreachable Result URL %j is attempted', async (resultUrl, error) => {
    await fixture.sandbox.putShop('main', { resultUrl });
    const billId = await paid();
    const tries = [{ status: null, error: expect.stringContaining(error) }];
    expect(callback(billId)).toMatchObject({ state: 'pending', tries });
    expect((await fixture.control('POST', '/shops/main/check')).status).toBeLessThan(500);
  });

  test('a postback that could not reach the shop is sent again to the address set by then', async () => {
    await fixture.sandbox.putShop('main', { resultUrl: 'http://127.0.0.1:1/result' });
    const billId = await paid();
    expect(callback(billId).tries).toMatchObject([{ status: null, error: expect.stringContaining('ECONNREFUSED') }]);
    await fixture.sandbox.putShop('main', { resultUrl: `${fixture.shopServer.url}/moved` });
    await fixture.sandbox.advanceClock('10s');
    expect(callback(billId)).toMatchObject({
      state: 'delivered',
      tries: [{}, { url: `${fixture.shopServer.url}/moved` }],
    });
  });

  test('a shop without a Result URL gets no postbacks', async () => {
    await fixture.sandbox.putShop('main', { resultUrl: null });
    expect(fixture.sandbox.bill(await paid()).callbacks).toEqual([]);
  });

  test('a shop can get its postbacks as forms and without a signature', async () => {
    await fixture.sandbox.putShop('main', { postbackFormat: 'form', postbackSignature: 'none' });
    const billId = await fixture.bill({ order_id: 'é 1', custom: 'a&b' });
    await fixture.sandbox.pay(billId);
    await fixture.sandbox.settled();
    const { headers, body } = fixture.shopServer.requests[0]!;
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Object.fromEntries(new URLSearchParams(body))).toEqual({
      Status: 'SUCCESS',
      InvId: 'é 1',
      Commission: '0.00',
      CurrencyIn: 'RUB',
      OutSum: '100.05',
      TrsId: billId,
      custom: 'a&b',
    });
  });

  test('a hundred postbacks that are due at once are all sent', async () => {
    const billId = await fixture.bill();
    for (let count = 0; count < 100; count += 1) await fixture.sandbox.pay(billId);
    await fixture.sandbox.settled();
    expect(fixture.shopServer.requests).toHaveLength(100);
  });

  describe('replayed postbacks', () => {
    test('a replayed postback is sent unchanged', async () => {
      const original = callback(await paid());
      const { status, json } = await fixture.control('POST', `/callbacks/${original.id}/replay`);
      expect([status, json['kind'], json['fields']]).toEqual([200, 'replay', original.fields]);
      await fixture.sandbox.settled();
      expect(fixture.shopServer.bodies).toEqual([original.fields, original.fields]);
    });

    test('a replayed postback with fields set keeps the original signature', async () => {
      const { id, fields } = callback(await paid());
      await fixture.control('POST', `/callbacks/${id}/replay`, { set: { OutSum: '1.00', Extra: 'x' } });
      await fixture.sandbox.settled();
      expect(fixture.shopServer.bodies[1]).toEqual({ ...fields, OutSum: '1.00', Extra: 'x' });
    });

    test('a replayed postback with resign is signed as by the service', async () => {
      const { id, fields } = callback(await paid());
      await fixture.control('POST', `/callbacks/${id}/replay`, { set: { OutSum: '1.00' }, resign: true });
      await fixture.sandbox.settled();
      const [, replayed] = fixture.shopServer.bodies;
      expect(replayed!['SignatureValue']).not.toBe(fields['SignatureValue']);
      await fixture.control('POST', `/callbacks/${id}/replay`, { set: {}, resign: true });
      await fixture.sandbox.settled();
      expect(fixture.shopServer.bodies[2]).toEqual(fields);
    });
  });

  test('a forged postback is a signed SUCCESS for an unpaid bill', async () => {
    const billId = await fixture.bill();
    const genuine = await paid();
    await fixture.control('POST', `/bills/${billId}/forge`, {});
    await fixture.sandbox.settled();
    const { paymentId, kind } = callback(billId);
    expect([paymentId, kind]).toEqual([null, 'forged']);
    expect(fixture.shopServer.bodies[1]).toEqual({ ...callback(genuine).fields, TrsId: billId });
    expect(fixture.sandbox.bill(billId).payments).toEqual([]);
  });
});
