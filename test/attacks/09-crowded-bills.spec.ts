import { describe, expect, jest, test } from '@jest/globals';
import { CheckStore } from '../../libs/payment-acceptance/src/settlement/storage/check.store.js';
import { ONE_ADAPTER } from '../support/adapters.js';
import type { Bought } from './support/attacked-shop.js';
import { PER_BILL, POOL, useFloods } from './support/floods.js';

describe.each(ONE_ADAPTER)('floods, on %s', (adapter) => {
  const floods = useFloods(adapter);

  describe('genuine callbacks to a flooded bill', () => {
    const KINDS: readonly [string, (bought: Bought) => Promise<Response>][] = [
      ['a redirect', (bought) => floods.redirect(bought)],
      ['a postback', (bought) => floods.postback(bought)],
      ['a postback of an unknown status', (bought) => floods.postback(bought, 'OVERPAID')],
    ];

    test.each(KINDS)('%s during a check that an identical one caused is checked again', async (_name, send) => {
      const bought = await floods.crowded();
      await floods.shop.elapse(2_000);
      await send(bought);
      const hold = floods.shop.sandbox.holdAnswers('payments');
      const check = floods.shop.confirmer.runOnce();
      await hold.reached();
      await floods.shop.paySilently(bought.billId);
      const before = await floods.rowsOf(bought);
      expect((await send(bought)).status).toBeLessThan(400);
      // This callback is needed, because the check of the first has its answer already. A third one would be redundant.
      const { repeatedCallbacks } = await floods.dropped();
      expect((await send(bought)).status).toBeLessThan(400);
      expect((await floods.dropped()).repeatedCallbacks).toBe(repeatedCallbacks + 1);
      expect(await floods.rowsOf(bought)).toBe(before + 1);
      hold.release();
      await check;
      expect(await floods.shop.order(bought.id)).toMatchObject({ status: 'pending' });
      await floods.shop.elapse(2_000);
      expect(await floods.shop.order(bought.id)).toMatchObject({ status: 'paid' });
    });

    test('a redirect that arrives right after its bill was claimed counts for the next check', async () => {
      const bought = await floods.crowded();
      await floods.shop.elapse(2_000);
      await floods.redirect(bought);
      const store = floods.shop.app.get<CheckStore>(CheckStore);
      const claim = store.claim.bind(store);
      jest.spyOn(store, 'claim').mockImplementationOnce(async (...given) => {
        const claimed = await claim(...given);
        await floods.redirect(bought);
        return claimed;
      });
      const hold = floods.shop.sandbox.holdAnswers('payments');
      const check = floods.shop.confirmer.runOnce();
      await hold.reached();
      await floods.shop.paySilently(bought.billId);
      expect((await floods.redirect(bought)).status).toBe(303);
      hold.release();
      await check;
      await floods.shop.elapse(2_000);
      expect(await floods.shop.order(bought.id)).toMatchObject({ status: 'paid' });
    });

    test('a genuine callback at any moment of a flood is settled before the next scheduled check', async () => {
      for (let round = 0; round < 5; round += 1) {
        const bought = await floods.crowded();
        const flooding = new AbortController();
        const checking = (async () => {
          while (!flooding.signal.aborted) {
            await floods.shop.confirmer.runOnce();
            floods.shop.clock.advance(2_000);
          }
        })();
        let genuine: Response;
        try {
          const flooded = floods.flood(40, () => floods.redirect(bought));
          await floods.flood(round * 10, () => floods.redirect(bought));
          await floods.shop.paySilently(bought.billId);
          genuine = await floods.redirect(bought);
          await flooded;
        } finally {
          // If anything above fails, the checks would never end.
          flooding.abort();
          await checking;
        }
        expect(genuine.status).toBe(303);
        await floods.shop.elapse(2_000);
        expect([round, (await floods.shop.order(bought.id)).status]).toEqual([round, 'paid']);
        // Each check, two seconds apart, lets one more redirect wait, for as long as a list may lag.
        expect(await floods.rowsOf(bought)).toBeLessThanOrEqual(PER_BILL + POOL + 22);
      }
    });

    test('recording a callback waits neither for the lock of its bill nor for a settlement that holds its callbacks', async () => {
      const bought = await floods.crowded();
      const runner = floods.shop.dataSource.createQueryRunner();
      await runner.startTransaction('READ COMMITTED');
      await runner.query('SELECT 1 FROM payment_acceptance.bill WHERE bill_id = $1 FOR UPDATE', [bought.billId]);
      await runner.query(
        `SELECT 1 FROM payment_acceptance.callback WHERE intent_id = (
           SELECT intent_id FROM payment_acceptance.bill WHERE bill_id = $1) FOR UPDATE`,
        [bought.billId],
      );
      expect([(await floods.redirect(bought)).status, (await floods.postback(bought)).status]).toEqual([303, 200]);
      await runner.rollbackTransaction();
      await runner.release();
    });
  });
});
