import { afterAll, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import type { LedgerCallback } from '../support/ledger.js';
import type { ForwardedPostback } from 'nestjs-payment-acceptance';
import { startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postForm, postJson } from '../support/http.js';
import { EffectWriter } from '../support/orders.js';
import { until } from '../support/until.js';

/** The older integration: what it receives, and what it does with it. */
const received: ForwardedPostback[] = [];
let older: (postback: ForwardedPostback, signal: AbortSignal) => Promise<boolean>;

let harness: Harness;

describe('forwarding', () => {
  beforeAll(async () => {
    harness = await startHarness({
      providers: [EffectWriter],
      options: {
        callbacks: {
          maxUnmatched: 3,
          maxForwards: 2,
          forwardTimeoutMs: 300,
          forwardUnknown: (postback, signal) => {
            received.push(postback);
            return older(postback, signal);
          },
        },
      },
    });
  });
  afterAll(() => harness.close());
  beforeEach(() => {
    received.length = 0;
    older = () => Promise.resolve(true);
  });

  const post = (fields: Record<string, string>) => postForm(`${harness.host.url}/postback/payment`, fields);
  const postback = (TrsId: string) => postbackFields({ InvId: `order of ${TrsId}`, OutSum: '10.00', TrsId });
  const stats = () => harness.host.app.get(PaymentOperations).stats();
  const stored = async (trsId: string): Promise<LedgerCallback[]> =>
    (await harness.host.ledger()).callbacks.filter((callback) => callback.trsId === trsId);

  describe('a postback of a bill that is not ours', () => {
    test('goes to the older integration with all its fields; if accepted there, it is answered and stored', async () => {
      const fields = { ...postback('old-1'), PayerEmail: 'payer@example.org' };
      const answer = await post(fields);
      expect([answer.status, await answer.text()]).toEqual([200, 'OK']);
      expect(received).toMatchObject([
        { shop: 'main', billId: 'old-1', orderId: 'order of old-1', digest: 'match', body: fields },
      ]);
      expect(received[0]!.contentType).toMatch(/^application\/x-www-form-urlencoded/);
      expect(await stored('old-1')).toMatchObject([
        { pending: true, billId: null, corroboration: { forwarded: 'accepted' } },
      ]);
    });

    test('keeps its digest, valid here or not', async () => {
      await post({ ...postback('old-2'), SignatureValue: 'made by another formula' });
      await postJson(`${harness.host.url}/postback/payment/eu`, { ...postback('old-3'), SignatureValue: undefined });
      expect(received).toMatchObject([
        { digest: 'mismatch', body: { SignatureValue: 'made by another formula' } },
        { digest: 'absent', shop: 'eu', contentType: 'application/json' },
      ]);
    });

    test('if declined there, waits for a bill here as without forwarding', async () => {
      older = () => Promise.resolve(false);
      expect((await post(postback('nobody-s'))).status).toBe(200);
      expect(await stored('nobody-s')).toMatchObject([{ pending: true, corroboration: {} }]);
    });

    test.each<[string, typeof older]>([
      ['fails', () => Promise.reject(new Error('the old database is away'))],
      ['throws at once', () => { throw new TypeError('x'); }], // prettier-ignore
      ['says neither', () => Promise.resolve(undefined as unknown as boolean)],
      ['never ends', () => new Promise<never>(() => undefined)],
    ])('is answered 503, so that it comes again, if the older integration %s', async (name, behaviour) => {
      older = behaviour;
      expect((await post(postback(`failing ${name}`))).status).toBe(503);
      expect(await stored(`failing ${name}`)).toEqual([]);
      older = () => Promise.resolve(true);
      expect((await post(postback(`failing ${name}`))).status).toBe(200);
    });

    test('that keeps failing writes rate-limited log lines, which count the suppressed ones', async () => {
      const said: string[] = [];
      const logged = jest
        .spyOn(Logger.prototype, 'error')
        .mockImplementation((line: unknown) => void said.push(String(line)));
      older = () => Promise.reject(new Error('no such bill'));
      harness.clock.advance(10_000);
      for (let index = 0; index < 5; index += 1) await post(postback(`made-up-${index}`));
      harness.clock.advance(10_000);
      await post(postback('another'));
      logged.mockRestore();
      expect(said).toEqual([
        expect.stringMatching(/^forward-failed: .*"made-up-0" .*asked for again\. Error: no such bill/),
        expect.stringMatching(/"another" .*no such bill \{ .*suppressed: 4/),
      ]);
    });

    test('aborts its signal on timeout', async () => {
      const told = new Promise((resolve) => {
        older = (_postback, signal) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => {
              resolve(signal.reason);
              reject(signal.reason as Error);
            });
          });
      });
      expect((await post(postback('slow'))).status).toBe(503);
      expect(await told).toMatchObject({ message: 'It took longer than 300 ms.' });
    });

    test('does not count against those that wait for a bill, and has a bound of the same size', async () => {
      const before = (await stats()).dropped.unrecordedForwards;
      for (let index = 0; index < 8; index += 1) expect((await post(postback(`many-${index}`))).status).toBe(200);
      const { callbacks } = await harness.host.ledger();
      expect(
        callbacks.filter(({ shop, corroboration }) => shop === 'main' && 'forwarded' in corroboration),
      ).toHaveLength(3);
      const { dropped, waitingCallbacks } = await stats();
      expect(dropped.unrecordedForwards - before).toBeGreaterThanOrEqual(5);
      expect(waitingCallbacks).toBe(callbacks.filter(({ corroboration }) => !('forwarded' in corroboration)).length);
      older = () => Promise.resolve(false);
      const declined = [];
      for (let index = 0; index < 4; index += 1) declined.push((await post(postback(`declined-${index}`))).status);
      expect(declined.filter((status) => status === 200)).toHaveLength(3 - waitingCallbacks);
    });

    test('is answered 503 at the limit of concurrent forwards', async () => {
      const released: (() => void)[] = [];
      older = () => new Promise((resolve) => released.push(() => resolve(true)));
      const running = [post(postback('running-1')), post(postback('running-2'))];
      await until(
        () => new Promise<number>((resolve) => setImmediate(() => resolve(released.length))),
        (many) => many === 2,
      );
      expect((await post(postback('too-many'))).status).toBe(503);
      for (const release of released) release();
      expect((await Promise.all(running)).map(({ status }) => status)).toEqual([200, 200]);
      expect(received.map(({ billId }) => billId)).not.toContain('too-many');
      expect((await stats()).dropped.delayedForwards).toBe(1);
      older = () => Promise.resolve(true);
      expect((await post(postback('too-many'))).status).toBe(200);
    });

    test('is not forwarded if malformed', async () => {
      expect((await post({ InvId: 'x' })).status).toBe(400);
      expect(received).toEqual([]);
    });
  });

  describe('a postback of a bill of ours', () => {
    /** Those above have waited for thirty days, and no longer count. */
    beforeAll(async () => {
      harness.clock.advance(31 * 24 * 3_600_000);
      await harness.settle();
      expect((await stats()).waitingCallbacks).toBe(0);
    });

    test('is never forwarded, and settles', async () => {
      const { billId } = await harness.host.payments.createBill({ orderId: 'ours', amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.settle();
      expect(received).toEqual([]);
      expect(await harness.effects()).toMatchObject([{ orderId: 'ours' }]);
    });

    test("that arrives before the creation's answer is linked to the bill if the older integration declines", async () => {
      older = () => Promise.resolve(false);
      await harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
      await harness.host.payments.createBill({ orderId: 'early', amount: '10' }).catch(() => undefined);
      await harness.sandbox.clearFaults();
      const { id } = harness.sandbox.bills().find(({ orderId }) => orderId === 'early')!;
      await harness.sandbox.pay(id);
      await harness.sandbox.settled();
      expect(received.map(({ billId }) => billId)).toEqual([id]);
      expect(await stored(id)).toMatchObject([{ pending: true }]);
    });

    test("that arrives before the creation's answer causes a check even if the older integration accepts it", async () => {
      const hold = harness.sandbox.holdAnswers('create');
      const creating = harness.host.payments.createBill({ orderId: 'accepted too early', amount: '10' });
      await hold.reached();
      const { id } = harness.sandbox.bills().find(({ orderId }) => orderId === 'accepted too early')!;
      await harness.sandbox.pay(id);
      await harness.sandbox.settled();
      expect(received.map(({ billId }) => billId)).toEqual([id]);
      hold.release();
      await creating;
      await harness.settle();
      expect(await stored(id)).toMatchObject([{ pending: false, outcome: 'confirmed' }]);
      expect(await harness.effects()).toContainEqual(expect.objectContaining({ orderId: 'accepted too early' }));
    });
  });
});
