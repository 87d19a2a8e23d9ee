import { describe, expect, test } from '@jest/globals';
import { BillInquiry } from '../../libs/payment-acceptance/src/settlement/bill-inquiry.js';
import { until } from '../support/until.js';
import { CREATION, DAY, HOUR, INQUIRIES_PER_HOUR, MINUTE, useLostBills } from './support/lost-bills.js';

describe('inquiries about bills that only postbacks name', () => {
  const world = useLostBills();

  describe('a forged postback', () => {
    test('a forged postback alerts nobody, and its bill is queried a few times, at growing intervals', async () => {
      await world.post('made-up');
      await world.inquireFor(HOUR, 2 * MINUTE);
      expect(world.asked).toHaveLength(2);
      await world.inquireFor(30 * DAY, 6 * HOUR);
      expect(world.asked).toEqual(Array(6).fill('made-up'));
      expect(await world.operations.stats()).toMatchObject({ lostBills: 0 });
      await world.harness.settle(); // the postback has waited for thirty days
      world.harness.clock.advance(61 * DAY);
      await world.inquire();
      expect(await world.query('SELECT 1 FROM payment_acceptance.lost_bill')).toEqual([]);
    });

    test('a postback with an id that no bill can have is queried too, so that it does not keep its place', async () => {
      for (const id of ['with a space', 'ümlaut', "'; --", '../1?id=2&x']) await world.post(id);
      await world.inquireFor(3 * HOUR, 2 * MINUTE);
      expect(new Set(world.asked)).toEqual(new Set(['with a space', 'ümlaut', "'; --", '../1?id=2&x']));
    });

    test('a postback that names the bill of another shop finds no lost bill', async () => {
      const billId = await world.lose('of eu', {}, 'eu');
      await world.query('TRUNCATE payment_acceptance.callback');
      await world.post(billId);
      await world.inquireFor(HOUR);
      expect(world.asked).toContain(billId);
      expect(await world.operations.lostBills()).toEqual([]);
    });

    test('a thousand forged postbacks stay within the limit of inquiries, and a lost bill is still found', async () => {
      for (let index = 0; index < 1_000; index += 50) {
        await Promise.all(Array.from({ length: 50 }, (_, next) => world.post(`flood-${index + next}`)));
      }
      const billId = await world.lose('among many');
      await world.inquireFor(CREATION + HOUR, 2 * MINUTE);
      expect(world.asked.length).toBeGreaterThan(INQUIRIES_PER_HOUR / 2);
      expect(world.asked.length).toBeLessThanOrEqual(INQUIRIES_PER_HOUR + 1);
      expect(new Set(world.asked).size).toBeGreaterThan(world.asked.length / 2);
      expect(await world.operations.lostBills()).toMatchObject([{ billId }]);
    });
  });

  test('a slow inquiry does not delay the check of a known bill, and is not repeated too soon', async () => {
    await world.post('slow-one');
    world.harness.clock.advance(CREATION);
    const other = (await world.harness.start()).app.get(BillInquiry);
    await world.harness.sandbox.setFaults({
      requests: { slow: { p: 1, operation: 'payments', times: 1, ms: 60_000 } },
    });
    let ended = false;
    const inquiring = other.runOnce().finally(() => (ended = true));
    await until(
      () => world.operations.stats(),
      () => world.asked.includes('slow-one'),
    );
    const { billId } = await world.harness.host.payments.createBill({ orderId: 'healthy', amount: '10' });
    await world.harness.sandbox.pay(billId);
    await world.harness.settle();
    const bill = (await world.harness.host.ledger()).bills.find((each) => each.billId === billId);
    expect([bill?.state, ended]).toEqual(['PAID', false]);
    await other.stop();
    await inquiring;
    // The request takes its turn before it is sent, so stopping it does not cause another one at once.
    expect(world.asked.filter((id) => id === 'slow-one')).toHaveLength(1);
    await world.inquireFor(9 * MINUTE, 3 * MINUTE);
    expect(world.asked.filter((id) => id === 'slow-one')).toHaveLength(2);
    await world.inquireFor(3 * MINUTE, 3 * MINUTE);
    expect(world.asked.filter((id) => id === 'slow-one')).toHaveLength(2);
  });

  test('an inquiry gets only what the checks leave of the rate limit', async () => {
    const rate = (since: string) =>
      world.query('UPDATE payment_acceptance.shop_state SET next_request_at = $1', [since]);
    await world.post('left-over');
    world.harness.clock.advance(CREATION);
    await rate('2999-01-01');
    expect(await world.inquire()).toBe(0);
    await rate('1970-01-01');
    expect(await world.inquire()).toBe(1);
  });

  test('an inquiry is repeated if the service does not answer, but not if it refuses the shop', async () => {
    const billId = await world.lose('while it was away');
    world.harness.clock.advance(CREATION);
    await world.harness.sandbox.setFaults({ requests: { status500: 1 } });
    await world.inquire();
    await world.harness.sandbox.clearFaults();
    await world.inquireFor(15 * MINUTE);
    expect(await world.operations.lostBills()).toMatchObject([{ billId }]);
    await world.post('while-refused');
    await world.query(
      `UPDATE payment_acceptance.shop_state SET refused_since = now(), refused_reason = 'x' WHERE shop = 'main'`,
    );
    world.asked = [];
    await world.inquireFor(HOUR);
    expect(world.asked).toEqual([]);
    await world.query(`UPDATE payment_acceptance.shop_state SET refused_since = NULL`);
  });

  test('an outage of days uses up none of the requests for a bill', async () => {
    const billId = await world.lose('during an outage');
    world.harness.clock.advance(CREATION);
    await world.harness.sandbox.setFaults({ requests: { status500: 1 } });
    await world.inquireFor(5 * DAY, 6 * HOUR);
    await world.harness.sandbox.clearFaults();
    await world.inquireFor(15 * MINUTE);
    expect(await world.operations.lostBills()).toMatchObject([{ billId }]);
  });

  /** For longer than all requests about a bill take. */
  async function answerBadly(): Promise<void> {
    world.harness.clock.advance(CREATION);
    await world.harness.sandbox.setFaults({ requests: { malformed: 1 } });
    await world.inquireFor(20 * DAY, 6 * HOUR);
    await world.harness.sandbox.clearFaults();
  }

  test('bad answers about one bill alone use up its requests', async () => {
    await world.post('answered-badly');
    await answerBadly();
    const before = world.asked.length;
    expect(before).toBe(6);
    await world.inquireFor(DAY, 6 * HOUR);
    expect(world.asked).toHaveLength(before);
  });

  test('a postback that comes after a bill has used up its requests starts them again', async () => {
    const billId = await world.lose('paid later');
    await answerBadly();
    expect(world.asked.filter((id) => id === billId)).toHaveLength(6);
    expect(await world.operations.lostBills()).toEqual([]);
    await world.post(billId);
    await world.inquireFor(15 * MINUTE);
    expect(await world.operations.lostBills()).toMatchObject([{ billId }]);
  });

  test('postbacks for unknown bills wait for thirty days, and no longer', async () => {
    await world.post('old');
    world.harness.clock.advance(29 * DAY);
    await world.harness.settle();
    expect(await world.operations.stats()).toMatchObject({ waitingCallbacks: 1 });
    world.harness.clock.advance(2 * DAY);
    await world.harness.settle();
    expect(await world.operations.stats()).toMatchObject({ waitingCallbacks: 0 });
  });
});
