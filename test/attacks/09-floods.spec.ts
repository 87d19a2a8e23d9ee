import { describe, expect, test } from '@jest/globals';
import { ONE_ADAPTER } from '../support/adapters.js';
import { onStatement } from '../support/statements.js';
import { until } from '../support/until.js';
import { PER_BILL, POOL, UNMATCHED, useFloods, WAITING } from './support/floods.js';
import { sendForm } from './support/sending.js';

describe.each(ONE_ADAPTER)('floods, on %s', (adapter) => {
  const floods = useFloods(adapter);

  describe('postbacks for a real bill', () => {
    test('a flood of postbacks for a real bill is accepted, leaves few rows, requests and log lines, and changes nothing', async () => {
      const bought = await floods.shop.buy();
      const nothingChanged = await floods.shop.watch();
      const began = floods.shop.clock.now().getTime();
      const [before, counted, lines] = [
        floods.asked(bought),
        await floods.dropped(),
        floods.logged('A bill has 100 callbacks'),
      ];
      let waves = 0;
      for (; waves < 6; waves += 1) {
        const statuses = ['SUCCESS', 'FAIL', 'REFUNDED'];
        expect(await floods.flood(60, (index) => floods.postback(bought, statuses[index % 3]))).toEqual({ 200: 60 });
        await floods.shop.elapse(1_000);
      }
      // Two seconds between checks; three kinds of claims, and each check lets one more of each kind wait.
      expect(floods.asked(bought) - before).toBeLessThanOrEqual(
        (floods.shop.clock.now().getTime() - began) / 2_000 + 1,
      );
      expect(await floods.rowsOf(bought)).toBeLessThanOrEqual(PER_BILL + POOL + 3 * waves);
      await nothingChanged();
      const { repeatedCallbacks } = await floods.dropped();
      expect(repeatedCallbacks - counted.repeatedCallbacks).toBeGreaterThan(
        60 * waves - 2 * (PER_BILL + POOL + 3 * waves),
      );
      expect(floods.logged('A bill has 100 callbacks') - lines).toBeLessThanOrEqual(1);
    });

    test('after a flood the callbacks of a bill shrink to the bound, and the first ones are still there', async () => {
      const bought = await floods.shop.buy();
      await floods.postback(bought, 'FAIL');
      const [first] = (await floods.shop.ledger()).callbacks;
      for (let wave = 0; wave < 3; wave += 1) {
        await floods.flood(30, () => floods.postback(bought));
        await floods.shop.settleHints();
      }
      for (let more = 0; more < POOL; more += 1) {
        await floods.redirect(bought);
        await floods.shop.settleHints();
      }
      expect(await floods.rowsOf(bought)).toBeLessThanOrEqual(PER_BILL + 1);
      expect((await floods.shop.ledger()).callbacks.map(({ id }) => id)).toContain(first!.id);
    });

    test('a genuine postback in a flood settles the bill at the next check', async () => {
      const bought = await floods.crowded();
      await floods.flood(30, () => floods.postback(bought, 'FAIL'));
      await floods.shop.pay(bought.billId);
      await floods.flood(30, () => floods.postback(bought, 'FAIL'));
      await floods.shop.elapse(2_000);
      expect(await floods.shop.order(bought.id)).toMatchObject({ status: 'paid', paidAmount: '100.05' });
    });
  });

  describe('postbacks for unknown bills', () => {
    test('postbacks for unknown bills get 503 beyond their bound, and those for real bills are still accepted', async () => {
      const unknown = (index: number) => floods.postback({ id: 'x', billId: `unknown-${index}` });
      const before = await floods.dropped();
      const statuses = await floods.flood(60, unknown);
      expect(statuses[200]).toBeGreaterThanOrEqual(UNMATCHED);
      expect(statuses[200]).toBeLessThanOrEqual(UNMATCHED + POOL);
      expect(statuses[503]).toBe(60 - statuses[200]!);
      expect((await floods.dropped()).unmatchedPostbacks - before.unmatchedPostbacks).toBe(statuses[503]);
      expect(floods.logged('name none of our bills')).toBe(1);
      floods.shop.clock.advance(60_000);
      await floods.flood(30, unknown);
      expect(floods.logged('name none of our bills')).toBe(2);
      const bought = await floods.shop.buy();
      await floods.shop.pay(bought.billId);
      await floods.shop.settle();
      expect(await floods.shop.order(bought.id)).toMatchObject({ status: 'paid' });
    });
  });

  describe('redirects', () => {
    test('redirects without a digest, or with a wrong one, store, look up and request nothing', async () => {
      const bought = await floods.shop.buy();
      await floods.shop.settle();
      const before = [await floods.rowsOf(bought), floods.asked(bought)];
      const url = `${floods.shop.url}/redirect/payment/success`;
      const form = { InvId: bought.id, OutSum: '100.05', CurrencyIn: 'RUB' };
      expect(await floods.flood(60, () => sendForm(url, form))).toEqual({ 200: 60 });
      expect(await floods.flood(60, () => sendForm(url, { ...form, SignatureValue: 'A'.repeat(32) }))).toEqual({
        403: 60,
      });
      await floods.shop.settle();
      expect([await floods.rowsOf(bought), floods.asked(bought)]).toEqual(before);
    });

    test('flooded result pages share one query, few of them wait, and postbacks are accepted meanwhile', async () => {
      const bought = await floods.shop.buy();
      const answer = await floods.redirect(bought);
      const page = new URL(answer.headers.get('location')!, answer.url).href;
      let looks = 0;
      const stop = onStatement(({ sql }) => {
        if (/shop_order o USING/.test(sql)) looks += 1;
      });
      const before = await floods.dropped();
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
      const other = await floods.shop.buy();
      expect((await floods.postback(other)).status).toBe(200);
      // All but those that may wait are shown at once; the others wait until the payment is found.
      await until(
        () => new Promise<number>((resolve) => setImmediate(() => resolve(shown))),
        (number) => number >= PAGES - WAITING,
      );
      expect(shown).toBe(PAGES - WAITING);
      await floods.shop.paySilently(bought.billId);
      await floods.shop.elapse(60_000);
      const texts = await pages;
      const waited = performance.now() - began;
      stop();
      expect(texts.filter((text) => text.includes('Checking your payment')).length).toBeGreaterThanOrEqual(
        PAGES - 2 * WAITING,
      );
      // One query per page when it arrives, then one every tenth of a second for all that wait.
      expect(looks).toBeGreaterThan(0);
      expect(looks).toBeLessThanOrEqual(PAGES + waited / 100 + 1);
      expect((await floods.dropped()).unawaitedResults - before.unawaitedResults).toBe(PAGES - WAITING);
      expect(floods.logged('result pages are waiting')).toBe(1);
    });

    test('a page that waits shows the result as soon as there is one', async () => {
      const bought = await floods.shop.buy();
      const { url, fields } = await floods.shop.paySilently(bought.billId);
      const answer = await sendForm(url, fields);
      const shown = fetch(new URL(answer.headers.get('location')!, answer.url)).then((page) => page.text());
      await floods.shop.settle();
      expect(await shown).toContain(bought.id);
      expect(await shown).toMatch(/paid|received/i);
    });
  });
});
