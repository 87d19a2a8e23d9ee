import { describe, expect, test } from '@jest/globals';
import { PaymentImport } from 'nestjs-payment-acceptance/operations';
import { CallbackStore } from '../../libs/payment-acceptance/src/callbacks/storage/callback.store.js';
import { BillInquiry } from '../../libs/payment-acceptance/src/settlement/bill-inquiry.js';
import { ON_MARIADB } from '../support/database.js';
import { WHOLE_FORM } from '../support/forms.js';
import { CREATION, MINUTE, useLostBills } from './support/lost-bills.js';

const SECOND = 1_000;
const MADE_UP = WHOLE_FORM ? 10_000 : 200;

/** As by default, in proportion. */
const PLACES = 2 * MADE_UP;
const RESTART_MS = CREATION + 10 * SECOND;
const PER_SECOND = WHOLE_FORM ? 25 : 5;

describe('postbacks of made-up bills whose digests look valid', () => {
  const world = useLostBills(WHOLE_FORM ? {} : { maxUnmatched: PLACES, inquiriesPerHour: PER_SECOND * 3_600 });

  const rows = async (table: string): Promise<number> => {
    const [counted] = (await world.query(`SELECT count(*) AS n FROM payment_acceptance.${table}`)) as [{ n: string }];
    return Number(counted.n);
  };

  /** Stores as many as one that was sent over HTTP. */
  async function flood(count: number, name: string): Promise<void> {
    if (count === 0) return;
    const TrsId = `${name}-0`;
    await world.post(TrsId);
    const columns =
      'kind, shop, intent_id, order_id, status, digest, corroboration, fields, received_at, pending, due_at';
    await world.query(
      ON_MARIADB
        ? `INSERT INTO payment_acceptance.callback (id, bill_id, ${columns})
           SELECT UUID(), CONCAT('${name}-', n.seq), ${columns} FROM payment_acceptance.callback, seq_1_to_${count - 1} n
           WHERE bill_id = '${TrsId}'`
        : `INSERT INTO payment_acceptance.callback (id, bill_id, ${columns})
           SELECT gen_random_uuid(), '${name}-' || n, ${columns} FROM payment_acceptance.callback,
           generate_series(1, ${count - 1}) n WHERE bill_id = '${TrsId}'`,
    );
  }

  test('postbacks without a bill stand outside of what searches for due ones read, until they are linked', async () => {
    const due = `pending AND due_at < '9999-01-01' AND bill_id =`;
    await world.post('made-up');
    expect(await rows(`callback WHERE ${due} 'made-up'`)).toBe(0);
    const billId = await world.lose('linked later');
    expect(await rows(`callback WHERE ${due} '${billId}'`)).toBe(0);
    const bill = { orderId: 'linked later', billId, amount: '10.00', createdAt: world.harness.clock.now() };
    await world.harness.host.app.get(PaymentImport).importBills([bill], { operator: 'ann' });
    expect(await rows(`callback WHERE ${due} '${billId}'`)).toBe(1);
    // As a release that only links it leaves it.
    await world.query(`UPDATE payment_acceptance.callback SET due_at = '9999-12-31' WHERE bill_id = '${billId}'`);
    await world.harness.host.app.get(CallbackStore, { strict: false }).linkForgotten();
    expect(await rows(`callback WHERE ${due} '${billId}'`)).toBe(1);
  });

  test.each([
    ['the first', 0],
    ['in the middle', 0.5],
    ['the last', 1],
  ] as const)(
    `among ${MADE_UP} forged postbacks a genuine one, %s, is found within ten minutes, over a restart`,
    async (_, share) => {
      await flood(MADE_UP * share, 'before');
      world.harness.clock.advance(SECOND);
      const billId = await world.lose('among many');
      world.harness.clock.advance(SECOND);
      await flood(MADE_UP * (1 - share), 'after');
      let inquiry = world.harness.host.app.get(BillInquiry);
      const started = world.harness.clock.now().getTime();
      const passedMs = (): number => world.harness.clock.now().getTime() - started;
      while (passedMs() < 10 * MINUTE && !world.asked.includes(billId)) {
        world.harness.clock.advance(SECOND);
        const before = world.asked.length;
        await inquiry.runOnce();
        expect(world.asked.length - before).toBeLessThanOrEqual(PER_SECOND);
        if (passedMs() === RESTART_MS) inquiry = (await world.harness.start()).app.get(BillInquiry);
      }
      expect(await world.operations.lostBills()).toMatchObject([{ billId }]);
      expect(new Set(world.asked).size).toBe(world.asked.length);
      expect(await rows('callback')).toBeLessThanOrEqual(PLACES);
    },
  );

  test('forged postbacks are stored up to a bound, and those that the service does not know free their places', async () => {
    await flood(PLACES, 'full');
    expect(await world.send('one-more')).toBe(503);
    world.harness.clock.advance(CREATION);
    while ((await rows('callback')) > PLACES / 2) {
      world.harness.clock.advance(SECOND);
      expect(await world.inquire()).toBe(1);
    }
    await world.post('now');
    expect(await rows('lost_bill')).toBeLessThanOrEqual(PER_SECOND);
    // From here on they keep their places, to be asked for again.
    world.harness.clock.advance(MINUTE);
    await world.inquire();
    expect(await rows('callback')).toBeGreaterThanOrEqual(PLACES / 2 - PER_SECOND);
  });
});
