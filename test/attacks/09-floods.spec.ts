import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import type { Logger } from 'typeorm';
import { CheckStore } from '../../libs/payment-acceptance/src/storage/check.store.js';
import { postbackFields, postJson, redirectFields } from '../support/http.js';
import { ONE_ADAPTER } from '../support/adapters.js';
import { startAttackedShop, TOKENS, type AttackedShop, type Bought } from './support/attacked-shop.js';
import { sendForm } from './support/sending.js';

const PER_BILL = 10;
const UNMATCHED = 20;
const WAITING = 10;
/** Requests that a sender has under way at once. */
const ABREAST = 25;
/** What may be stored at the same moment as something that makes it one too many: the connections of the pool. */
const POOL = 10;

describe.each(ONE_ADAPTER)('floods, on %s', (adapter) => {
  let shop: AttackedShop;
  beforeAll(async () => {
    shop = await startAttackedShop(adapter, {
      options: {
        callbacks: { maxPerBill: PER_BILL, maxUnmatched: UNMATCHED, maxWaitingResults: WAITING, resultWaitMs: 10_000 },
      },
    });
  });
  afterAll(() => shop.close());

  /** Sends as many as it says, some abreast, and counts the answers by their status. */
  async function flood(count: number, send: (index: number) => Promise<Response>): Promise<Record<string, number>> {
    const statuses: Record<string, number> = {};
    let next = 0;
    const sender = async (): Promise<void> => {
      while (next < count) {
        next += 1;
        const { status } = await send(next);
        statuses[status] = (statuses[status] ?? 0) + 1;
      }
    };
    await Promise.all(Array.from({ length: ABREAST }, sender));
    return statuses;
  }
  const postback = ({ id, billId }: Pick<Bought, 'id' | 'billId'>, Status = 'SUCCESS') =>
    postJson(
      `${shop.url}/postback/payment`,
      postbackFields({ InvId: id, OutSum: '100.05', TrsId: billId, Status }, TOKENS.main),
    );
  const redirect = ({ id }: Pick<Bought, 'id'>) =>
    sendForm(`${shop.url}/redirect/payment/success`, redirectFields({ InvId: id, OutSum: '100.05' }, TOKENS.main));
  const rowsOf = async ({ billId }: Pick<Bought, 'billId'>): Promise<number> =>
    (await shop.ledger()).callbacks.filter((callback) => callback.billId === billId).length;
  const dropped = async () => (await shop.app.get(PaymentOperations).stats()).dropped;
  const asked = ({ billId }: Bought) => shop.sandbox.requests.filter((request) => request.billId === billId).length;
  const said = (words: string) => shop.logs.lines.filter((line) => line.includes(words)).length;
  /** A bill that has as many callbacks as are kept, all of them answered. */
  async function crowded(): Promise<Bought> {
    const bought = await shop.buy();
    for (let count = 0; count < PER_BILL; count += 1) await redirect(bought);
    await shop.settle();
    expect(await rowsOf(bought)).toBe(PER_BILL);
    return bought;
  }

  describe('of postbacks for a real bill', () => {
    test('all are taken; rows, requests and lines of the log stay few, and nothing changes', async () => {
      const bought = await shop.buy();
      const nothingChanged = await shop.watch();
      const began = shop.clock.now().getTime();
      const [before, counted, lines] = [asked(bought), await dropped(), said('callbacks.maxPerBill')];
      let waves = 0;
      for (; waves < 6; waves += 1) {
        const statuses = ['SUCCESS', 'FAIL', 'REFUNDED'];
        expect(await flood(60, (index) => postback(bought, statuses[index % 3]))).toEqual({ 200: 60 });
        await shop.elapse(1_000);
      }
      // Two seconds between checks; three kinds of claims, of which each check lets one more of each wait.
      expect(asked(bought) - before).toBeLessThanOrEqual((shop.clock.now().getTime() - began) / 2_000 + 1);
      expect(await rowsOf(bought)).toBeLessThanOrEqual(PER_BILL + POOL + 3 * waves);
      await nothingChanged();
      const { repeatedCallbacks } = await dropped();
      expect(repeatedCallbacks - counted.repeatedCallbacks).toBeGreaterThan(
        60 * waves - 2 * (PER_BILL + POOL + 3 * waves),
      );
      expect(said('callbacks.maxPerBill') - lines).toBeLessThanOrEqual(1);
    });

    test('afterwards what was kept shrinks to the bound, and the first ones are still there', async () => {
      const bought = await shop.buy();
      await postback(bought, 'FAIL');
      const [first] = (await shop.ledger()).callbacks;
      for (let wave = 0; wave < 3; wave += 1) {
        await flood(30, () => postback(bought));
        await shop.settleHints();
      }
      for (let more = 0; more < POOL; more += 1) {
        await redirect(bought);
        await shop.elapse(2_000);
      }
      expect(await rowsOf(bought)).toBeLessThanOrEqual(PER_BILL + 1);
      expect((await shop.ledger()).callbacks.map(({ id }) => id)).toContain(first!.id);
    });

    test('the genuine one among them settles the bill at the next check', async () => {
      const bought = await crowded();
      await flood(30, () => postback(bought, 'FAIL'));
      await shop.pay(bought.billId);
      await flood(30, () => postback(bought, 'FAIL'));
      await shop.elapse(2_000);
      expect(await shop.order(bought.id)).toMatchObject({ status: 'paid', paidAmount: '100.05' });
    });
  });

  describe('that fill a bill, and then a genuine callback', () => {
    const KINDS: readonly [string, (bought: Bought) => Promise<Response>][] = [
      ['a redirect', redirect],
      ['a postback', postback],
      ['a postback of an unknown status', (bought) => postback(bought, 'OVERPAID')],
    ];

    test.each(KINDS)(
      '%s while a check is under way that was made for one just like it: checked again',
      async (_name, send) => {
        const bought = await crowded();
        await shop.elapse(2_000);
        await send(bought);
        const hold = shop.sandbox.holdAnswers('payments');
        const check = shop.confirmer.runOnce();
        await hold.reached();
        await shop.paySilently(bought.billId);
        const before = await rowsOf(bought);
        expect((await send(bought)).status).toBeLessThan(400);
        // This one is needed: the other has its answer already. A third is not: it asks for the same as the second.
        const { repeatedCallbacks } = await dropped();
        expect((await send(bought)).status).toBeLessThan(400);
        expect((await dropped()).repeatedCallbacks).toBe(repeatedCallbacks + 1);
        expect(await rowsOf(bought)).toBeLessThanOrEqual(before + 1);
        hold.release();
        await check;
        expect(await shop.order(bought.id)).toMatchObject({ status: 'pending' });
        await shop.elapse(2_000);
        expect(await shop.order(bought.id)).toMatchObject({ status: 'paid' });
      },
    );

    test('a redirect that comes when a bill is claimed, before its hints are read: counts for the next check', async () => {
      const bought = await crowded();
      await shop.elapse(2_000);
      await redirect(bought);
      const store = shop.app.get<{ hintsOf(bills: string[]): Promise<unknown> }>(CheckStore);
      const read = jest.spyOn(store, 'hintsOf').mockImplementationOnce(async (bills) => {
        read.mockRestore();
        await redirect(bought);
        return store.hintsOf(bills);
      });
      const hold = shop.sandbox.holdAnswers('payments');
      const check = shop.confirmer.runOnce();
      await hold.reached();
      await shop.paySilently(bought.billId);
      expect((await redirect(bought)).status).toBe(303);
      hold.release();
      await check;
      await shop.elapse(2_000);
      expect(await shop.order(bought.id)).toMatchObject({ status: 'paid' });
    });

    test('at any moment, between any checks: the payment is found at once, without the schedule', async () => {
      for (let round = 0; round < 5; round += 1) {
        const bought = await crowded();
        const flooding = new AbortController();
        const checking = (async () => {
          while (!flooding.signal.aborted) {
            await shop.confirmer.runOnce();
            shop.clock.advance(2_000);
          }
        })();
        let genuine: Response;
        try {
          const flooded = flood(40, () => redirect(bought));
          await flood(round * 10, () => redirect(bought));
          await shop.paySilently(bought.billId);
          genuine = await redirect(bought);
          await flooded;
        } finally {
          // Whatever fails above: the checks would go on for ever.
          flooding.abort();
          await checking;
        }
        expect(genuine.status).toBe(303);
        await shop.elapse(2_000);
        expect([round, (await shop.order(bought.id)).status]).toEqual([round, 'paid']);
        expect(await rowsOf(bought)).toBeLessThanOrEqual(PER_BILL + POOL + 1);
      }
    });

    test('recording one does not wait for the bill, nor for a settlement that holds its callbacks', async () => {
      const bought = await crowded();
      const runner = shop.dataSource.createQueryRunner();
      await runner.startTransaction();
      await runner.query('SELECT 1 FROM payment_acceptance.bill WHERE service_bill_id = $1 FOR UPDATE', [
        bought.billId,
      ]);
      await runner.query(
        `SELECT 1 FROM payment_acceptance.callback WHERE bill_id = (
           SELECT id FROM payment_acceptance.bill WHERE service_bill_id = $1) FOR UPDATE`,
        [bought.billId],
      );
      expect([(await redirect(bought)).status, (await postback(bought)).status]).toEqual([303, 200]);
      await runner.rollbackTransaction();
      await runner.release();
    });
  });

  describe('of postbacks for bills that nobody knows', () => {
    test('are kept up to the bound; beyond it 503, told now and then; those for real bills are taken as ever', async () => {
      const unknown = (index: number) => postback({ id: 'x', billId: `unknown-${index}` });
      const before = await dropped();
      const statuses = await flood(60, unknown);
      expect(statuses[200]).toBeGreaterThanOrEqual(UNMATCHED);
      expect(statuses[200]).toBeLessThanOrEqual(UNMATCHED + POOL);
      expect(statuses[503]).toBe(60 - statuses[200]!);
      expect((await dropped()).unmatchedPostbacks - before.unmatchedPostbacks).toBe(statuses[503]);
      expect(said('name no bill of ours')).toBe(1);
      shop.clock.advance(60_000);
      await flood(30, unknown);
      expect(said('name no bill of ours')).toBe(2);
      const bought = await shop.buy();
      await shop.pay(bought.billId);
      await shop.settle();
      expect(await shop.order(bought.id)).toMatchObject({ status: 'paid' });
    });
  });

  describe('of redirects', () => {
    test('without a digest, or with a wrong one: nothing is stored, looked up or asked', async () => {
      const bought = await shop.buy();
      await shop.settle();
      const before = [await rowsOf(bought), asked(bought)];
      const url = `${shop.url}/redirect/payment/success`;
      const form = { InvId: bought.id, OutSum: '100.05', CurrencyIn: 'RUB' };
      expect(await flood(60, () => sendForm(url, form))).toEqual({ 200: 60 });
      expect(await flood(60, () => sendForm(url, { ...form, SignatureValue: 'A'.repeat(32) }))).toEqual({ 403: 60 });
      await shop.settle();
      expect([await rowsOf(bought), asked(bought)]).toEqual(before);
    });

    test('and their result pages: few wait, they share one look, and postbacks are taken meanwhile', async () => {
      const bought = await shop.buy();
      const answer = await redirect(bought);
      const page = new URL(answer.headers.get('location')!, answer.url).href;
      let looks = 0;
      const logger = shop.dataSource.logger;
      const note = (statement: string): void => {
        if (/shop_order o USING/.test(statement)) looks += 1;
      };
      shop.dataSource.logger = new Proxy({} as Logger, { get: () => note });
      const before = await dropped();
      const began = performance.now();
      const PAGES = 60;
      let shown = 0;
      const pages = Promise.all(
        Array.from({ length: PAGES }, async () => {
          const text = await (await fetch(page)).text();
          shown += 1;
          return text;
        }),
      );
      const other = await shop.buy();
      expect((await postback(other)).status).toBe(200);
      // Those that wait still do, and until the payment is found.
      expect(shown).toBeLessThanOrEqual(PAGES - WAITING);
      await shop.paySilently(bought.billId);
      await shop.elapse(60_000);
      const texts = await pages;
      const waited = performance.now() - began;
      shop.dataSource.logger = logger;
      expect(texts.filter((text) => text.includes('being checked')).length).toBeGreaterThanOrEqual(PAGES - 2 * WAITING);
      // One look of each page when it comes, then one for all that wait, each tenth of a second.
      expect(looks).toBeLessThanOrEqual(PAGES + waited / 100 + 1);
      expect((await dropped()).unawaitedResults - before.unawaitedResults).toBe(PAGES - WAITING);
      expect(said('result pages wait')).toBe(1);
    });

    test('a page that waits shows the result as soon as there is one', async () => {
      const bought = await shop.buy();
      const { url, fields } = await shop.paySilently(bought.billId);
      const answer = await sendForm(url, fields);
      const shown = fetch(new URL(answer.headers.get('location')!, answer.url)).then((page) => page.text());
      await shop.settle();
      expect(await shown).toContain(bought.id);
      expect(await shown).toMatch(/paid|received/i);
    });
  });
});
