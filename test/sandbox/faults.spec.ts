import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type FaultDocument, signatureOf, startPaymentSandbox } from 'nestjs-payment-sandbox';
import { Fixture, StillClock, TOKEN } from './fixture.js';

describe('faults', () => {
  let fixture: Fixture;
  beforeEach(async () => {
    fixture = await Fixture.open({ clock: new StillClock() });
  });
  afterEach(() => fixture.close());

  const put = async (document: FaultDocument) => {
    const { status, json } = await fixture.control('PUT', '/faults', document);
    expect([status, json]).toEqual([200, document]);
  };
  const isReset = (call: Promise<unknown>) =>
    call.then(
      () => false,
      (error: unknown) => ((error as Error).cause as NodeJS.ErrnoException).code === 'ECONNRESET',
    );

  describe('faults of requests', () => {
    test('resetBefore resets the connection before anything is done', async () => {
      await put({ requests: { resetBefore: 1 } });
      expect(await isReset(fixture.create())).toBe(true);
      expect(fixture.sandbox.bills()).toEqual([]);
      expect(fixture.sandbox.requests).toMatchObject([
        { operation: 'create', orderId: 'order-1', billId: null, status: null },
      ]);
    });

    test('loseAnswer makes the bill, then resets the connection', async () => {
      await put({ requests: { loseAnswer: 1 } });
      expect(await isReset(fixture.create())).toBe(true);
      const [bill] = fixture.sandbox.bills();
      expect(fixture.sandbox.requests).toMatchObject([{ billId: bill!.id, faults: ['loseAnswer'], status: null }]);
    });

    test('slow delays the answer', async () => {
      await put({ requests: { slow: { p: 1, ms: 60 } } });
      const started = performance.now();
      expect((await fixture.create()).status).toBe(200);
      expect(performance.now() - started).toBeGreaterThanOrEqual(55);
    });

    test.each([
      ['status500', 500, 'application/json', 0],
      ['html', 502, 'text/html', 0],
      ['malformed', 200, 'application/json', 1],
      ['empty', 200, 'application/json', 1],
    ] as const)('%s spoils the answer', async (fault, status, type, bills) => {
      await put({ requests: { [fault]: 1 } });
      const response = await fetch(`${fixture.url}/api/v1/bill/create?amount=5`, {
        method: 'POST',
        headers: { authorization: 'Bearer token-of-main' },
      });
      expect([response.status, response.headers.get('content-type')]).toEqual([status, type]);
      if (fault !== 'status500') await expect(response.json()).rejects.toThrow(/JSON/);
      expect(fixture.sandbox.bills()).toHaveLength(bills);
    });

    test('a request with a spoilt answer can be set to be served first', async () => {
      await put({ requests: { status500: { p: 1, done: true } } });
      expect((await fixture.create()).status).toBe(500);
      expect(fixture.sandbox.bills()).toHaveLength(1);
    });

    test.each([
      ['unauthenticated', 401, 'Unauthenticated'],
      ['merchantNotFound', 403, 'api:error.merchant_not_found'],
      ['merchantBanned', 403, 'api:error.merchant_banned'],
      ['billNotFound', 403, 'api:error.bill_not_found'],
      ['tooManyPayments', 400, 'api:error.too_many_payments'],
    ] as const)('%s refuses a request as in section 7', async (fault, status, message) => {
      const billId = await fixture.bill();
      await put({ requests: { [fault]: 1 } });
      const answer = await fixture.payments(billId);
      expect([answer.status, answer.json]).toEqual([status, { message, success: false }]);
      await fixture.control('DELETE', '/faults');
      expect((await fixture.payments(billId)).status).toBe(200);
    });

    test('a fault can be limited to one operation and a number of times', async () => {
      await put({ requests: { status500: { p: 1, times: 2, operation: 'create' } } });
      expect((await fixture.payments('x')).status).toBe(403);
      const statuses = [await fixture.create(), await fixture.create(), await fixture.create()].map(
        ({ status }) => status,
      );
      expect(statuses).toEqual([500, 500, 200]);
    });
  });

  describe('faults of postbacks', () => {
    const pay = async (outcome: 'success' | 'fail' = 'success') => {
      const billId = await fixture.bill();
      await fixture.sandbox.pay(billId, { outcome });
      await fixture.sandbox.settled();
      return billId;
    };

    test('drop never sends the postback, which can be replayed', async () => {
      await put({ postbacks: { drop: 1 } });
      const billId = await pay();
      await fixture.sandbox.advanceClock('3d');
      expect(fixture.shopServer.requests).toEqual([]);
      const [callback] = fixture.sandbox.bill(billId).callbacks;
      expect(callback).toMatchObject({ state: 'dropped', tries: [] });
      await fixture.sandbox.replay(callback!.id);
      await fixture.sandbox.settled();
      expect(fixture.shopServer.requests).toHaveLength(1);
    });

    test('duplicate sends several copies of the postback at the same moment', async () => {
      let release = (): void => undefined;
      fixture.shopServer.gate = new Promise((resolve) => (release = resolve));
      await put({ postbacks: { duplicate: { p: 1, copies: 2 } } });
      const billId = await fixture.bill();
      await fixture.sandbox.pay(billId);
      const settled = fixture.sandbox.settled();
      while (fixture.shopServer.requests.length < 3) await new Promise(setImmediate); // all come before any is answered
      release();
      await settled;
      expect(new Set(fixture.shopServer.requests.map(({ body }) => body)).size).toBe(1);
    });

    test('delay sends the postback later', async () => {
      await put({ postbacks: { delay: { p: 1, by: '2h' } } });
      await pay();
      await fixture.sandbox.advanceClock('119m');
      expect(fixture.shopServer.requests).toEqual([]);
      await fixture.sandbox.advanceClock('1m');
      expect(fixture.shopServer.requests).toHaveLength(1);
    });

    test('reorder sends the next postback first', async () => {
      await put({ postbacks: { reorder: 1 } });
      const ids = [await pay('fail'), await pay('success')];
      expect(fixture.shopServer.bodies.map(({ TrsId }) => TrsId)).toEqual(ids.reverse());
    });

    test('reorder sends the postback in the end if there is no next one', async () => {
      await put({ postbacks: { reorder: { p: 1, within: '30s' } } });
      await pay();
      expect(fixture.shopServer.requests).toEqual([]);
      await fixture.sandbox.advanceClock('30s');
      expect(fixture.shopServer.requests).toHaveLength(1);
    });

    test('change sets fields of the postback, under the old signature or a new one', async () => {
      await put({ postbacks: { change: { p: 1, set: { OutSum: '1.00' } } } });
      await pay();
      await put({ postbacks: { change: { p: 1, set: { OutSum: '1.00' }, resign: true } } });
      await pay();
      const [changed, resigned] = fixture.shopServer.bodies;
      expect([changed!['OutSum'], resigned!['OutSum']]).toEqual(['1.00', '1.00']);
      const signed = (sum: string, { InvId }: Record<string, unknown>) => signatureOf(sum, String(InvId), TOKEN);
      expect(changed!['SignatureValue']).toBe(signed('100.05', changed!));
      expect(resigned!['SignatureValue']).toBe(signed('1.00', resigned!));
    });

    test("forge sends a forged SUCCESS with the payer's digest beside a genuine FAIL", async () => {
      await put({ postbacks: { forge: { p: 1, status: 'FAIL' } } });
      const billId = await fixture.bill();
      const { redirect } = await fixture.sandbox.pay(billId, { outcome: 'fail' });
      await fixture.sandbox.settled();
      expect(fixture.shopServer.bodies.map(({ Status }) => Status).sort()).toEqual(['FAIL', 'SUCCESS']);
      for (const { SignatureValue } of fixture.shopServer.bodies) {
        expect(SignatureValue).toBe(redirect!.fields['SignatureValue']);
      }
      expect(fixture.sandbox.bill(billId)).toMatchObject({
        paid: false,
        callbacks: [{ kind: 'forged' }, { kind: 'postback' }],
      });
    });
  });

  test('the same seed and calls give the same faults, and another seed gives others', async () => {
    const run = async (seed: number) => {
      await fixture.sandbox.setFaults({ seed, requests: { status500: 0.5, empty: 0.3 } });
      const statuses: number[] = [];
      for (let count = 0; count < 20; count += 1) statuses.push((await fixture.create()).status);
      return statuses.join();
    };
    const first = await run(7);
    expect(first).toContain('500');
    expect(first).toContain('200');
    expect(await run(7)).toBe(first);
    expect(await run(8)).not.toBe(first);
  });

  test.each([
    [{ requests: { unknown: 1 } }, 'unknown'],
    [{ postbacks: { drop: 2 } }, 'postbacks.drop'],
    [{ postbacks: { drop: '1' } }, 'postbacks.drop'],
    [{ postbacks: { drop: { p: -1 } } }, 'postbacks.drop.p'],
    [{ requests: { slow: { p: 1, ms: 'x' } } }, 'ms'],
    [{ requests: { slow: { p: 1, by: '1s' } } }, 'by'],
    [{ postbacks: { delay: { p: 1, by: '1 day' } } }, 'by'],
    [{ postbacks: { change: { p: 1, set: { OutSum: 1 } } } }, 'set.OutSum'],
    [{ postbacks: { change: 1 } }, 'change needs set'],
    [{ postbacks: { change: { p: 1, set: {}, resign: true } } }, 'change needs set'],
    [{ seed: 'x' }, 'seed'],
    [{ faults: {} }, 'faults'],
    [[], 'JSON object'],
    ['{', 'JSON'],
  ])('the faults %j are refused', async (document, named) => {
    const { status, json } = await fixture.control('PUT', '/faults', document);
    expect([status, json['message']]).toEqual([400, expect.stringContaining(named)]);
    expect(fixture.sandbox.faults()).toEqual({});
  });

  test('held answers contain what was true when they were made', async () => {
    const billId = await fixture.bill();
    const hold = fixture.sandbox.holdAnswers('payments');
    const stale = fixture.payments(billId);
    await hold.reached();
    await fixture.sandbox.pay(billId);
    expect((await fixture.create()).status).toBe(200);
    hold.release();
    expect((await stale).json['data']).toEqual([]);
    expect((await fixture.payments(billId)).json['data']).toHaveLength(1);
  });

  test('a sandbox closes while answers are held', async () => {
    const { url, sandbox, close } = await startPaymentSandbox({ shops: { main: { apiToken: 't' } } });
    const hold = sandbox.holdAnswers();
    const call = fetch(`${url}/api/v1/bill/payments`).then(
      () => 'answered',
      () => 'cut off',
    );
    await hold.reached();
    await close();
    expect(['answered', 'cut off']).toContain(await call);
  });
});
