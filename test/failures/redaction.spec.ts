import { afterEach, describe, expect, test } from '@jest/globals';
import { PaymentOperations, PaymentRecords, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import type { TestedOptions } from '../support/options.js';
import { RetentionWorker } from '../../libs/payment-acceptance/src/retention/retention.worker.js';
import { onPostgres } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { billOf, Clerk, MASKED, paidWithTraces, payByCard, PERSON, placesOf } from '../support/personal-data.js';

const DAY = 24 * 3_600_000;

describe('redaction by age', () => {
  let harness: Harness;
  let worker: RetentionWorker;
  afterEach(async () => {
    Clerk.taken.length = 0;
    Clerk.refused.clear();
    await harness.close();
  });

  async function open(retention?: TestedOptions['retention']): Promise<void> {
    const noOther = { redactCallbacksAfterMs: null, deleteCallbacksAfterMs: null };
    harness = await startHarness({ providers: [Clerk], options: { retention: { ...noOther, ...retention } } });
    worker = harness.host.app.get(RetentionWorker);
  }

  const places = async () => [
    ...(await placesOf(harness.host.dataSource, PERSON)),
    ...(await placesOf(harness.host.dataSource, MASKED)),
  ];
  const operations = () => harness.host.app.get(PaymentOperations);

  /** Lets the time of all bills pass, checking them as their schedule says. */
  async function pass(days: number): Promise<void> {
    for (let left = days; left > 0; left -= 5) {
      harness.clock.advance(Math.min(left, 5) * DAY);
      await harness.settle();
    }
  }

  async function replayed(): Promise<void> {
    await operations().replay({}, { operator: 'ann' });
    await harness.settle();
  }

  test('redaction is off unless an age is set', async () => {
    await open();
    await paidWithTraces(harness, 'A-1');
    await replayed();
    const before = await places();
    await pass(20);
    harness.clock.advance(3_000 * DAY);
    expect(await worker.runOnce()).toBe(0);
    expect(await places()).toEqual(before);
  });

  test("redaction removes every personal text of an ended bill, and of operators' notes", async () => {
    await open({ redactBillsAfterMs: 60 * DAY });
    await paidWithTraces(harness, 'A-1');
    await replayed();
    const known = await harness.host.ledger();
    await pass(59);
    expect(await worker.runOnce()).toBe(0);
    await pass(2);
    expect(await worker.runOnce()).toBe(2);
    expect(await worker.runOnce()).toBe(0);
    expect(await places()).toEqual([]);
    const { bills, payments, events, callbacks } = await harness.host.ledger();
    const identities = (ledger: typeof known) => [
      ledger.bills.map(({ orderId, billId, amount, state }) => [orderId, billId, amount, state]),
      ledger.payments.map(({ paymentId, status, amount }) => [paymentId, status, amount]),
      ledger.events.map(({ id, name, paymentId }) => [id, name, paymentId]),
      ledger.callbacks.length,
    ];
    expect(identities({ ...known, bills, payments, events, callbacks })).toEqual(identities(known));
    const records = harness.host.app.get(PaymentRecords);
    const [found] = await records.searchBills('A-1');
    const history = await records.history(found!.intentId);
    expect(history?.bill).toMatchObject({
      custom: '',
      customGiven: true,
      redactedAt: expect.stringMatching(/^\d{4}-/),
    });
    expect(history?.events[0]?.payload).toMatchObject({
      amount: '10.00',
      custom: null,
      fromCard: null,
      redacted: true,
    });
  });

  test('redaction keeps the id that the module itself sent as custom', async () => {
    await open({ redactBillsAfterMs: DAY });
    const { billId } = await harness.host.payments.createBill({ orderId: 'A-1', amount: '10', description: PERSON });
    await payByCard(harness, billId);
    await pass(20);
    expect(await worker.runOnce()).toBe(1);
    expect(await places()).toEqual([]);
    const rows = await harness.host.dataSource.query<{ intent_id: string; custom: string }[]>(
      'SELECT intent_id, custom FROM payment_acceptance.bill',
    );
    expect(rows).toMatchObject([{ custom: rows[0]!.intent_id }]);
  });

  test('redaction waits while a bill is open or has an open review or a dead letter', async () => {
    await open({ redactBillsAfterMs: DAY });
    await billOf(harness, 'open');
    await paidWithTraces(harness, 'dead');
    const short = await billOf(harness, 'review');
    await harness.sandbox.pay(short, { amount: '9.00' });
    await harness.settle();
    await pass(2);
    const redacted = async () =>
      (
        await harness.host.dataSource.query<{ orderId: string }[]>(
          `SELECT order_id AS "orderId" FROM payment_acceptance.bill WHERE redacted_at IS NOT NULL ORDER BY order_id`,
        )
      ).map(({ orderId }) => orderId);
    await worker.runOnce();
    expect(await redacted()).toEqual([]);
    // A bill with a payment under review is open for a month, and followed for another.
    await pass(75);
    await worker.runOnce();
    expect(await redacted()).toEqual(['open']);
    await replayed();
    const reviews = harness.host.app.get(PaymentReviews);
    for (const { id } of await reviews.list()) await reviews.dismiss(id, { operator: 'ann' });
    await worker.runOnce();
    expect(await redacted()).toEqual(['dead', 'open', 'review']);
    expect(await places()).toEqual([]);
  });

  test('redaction goes in batches, and skips a bill that somebody has locked', async () => {
    await open({ redactBillsAfterMs: DAY, batchSize: 30 });
    for (const orderId of ['A-1', 'A-2', 'A-3', 'A-4', 'A-5']) await payByCard(harness, await billOf(harness, orderId));
    await harness.settle();
    await pass(20);
    expect(await worker.runOnce()).toBe(3);
    const other = harness.host.dataSource.createQueryRunner();
    await other.startTransaction();
    const [locked] = await harness.host.app.get(PaymentRecords).searchBills('A-4');
    // By its key: on MariaDB any other condition would lock every row.
    await other.query('SELECT intent_id FROM payment_acceptance.bill WHERE intent_id = $1 FOR UPDATE', [
      locked!.intentId,
    ]);
    expect(await worker.runOnce()).toBe(1);
    expect(await worker.runOnce()).toBe(0);
    await other.rollbackTransaction();
    await other.release();
    expect(await worker.runOnce()).toBe(1);
    expect(await places()).toEqual([]);
  });

  test('redaction empties the listed payments of a lost bill once it has been dealt with', async () => {
    await open({ redactBillsAfterMs: DAY });
    for (const [bill, state] of [
      ['b-1', 'DISMISSED'],
      ['b-2', 'LOST'],
    ]) {
      await harness.host.dataSource.query(
        `INSERT INTO payment_acceptance.lost_bill
         (id, shop, bill_id, state, asks, asked_at, payments, listed, found_at)
         VALUES (gen_random_uuid(), 'main', $1, $2, 1, now(), $3, 1, now())`,
        [bill, state, `[{"fromCard": "${MASKED}"}]`],
      );
    }
    expect(await worker.runOnce()).toBe(0);
    harness.clock.advance(2 * DAY);
    expect(await worker.runOnce()).toBe(1);
    const left = await harness.host.dataSource.query<object[]>(
      'SELECT state FROM payment_acceptance.lost_bill WHERE payments IS NOT NULL',
    );
    expect(left).toEqual([{ state: 'LOST' }]);
  });

  onPostgres(test)('redaction finds bills and notes through an index', async () => {
    await open();
    const { dataSource } = harness.host;
    await dataSource.query(
      `INSERT INTO payment_acceptance.shop_order (shop, order_id) SELECT 'main', n::text FROM generate_series(1, 3000) n`,
    );
    await dataSource.query(
      `INSERT INTO payment_acceptance.bill (intent_id, shop, shop_id, order_id, attempt, state, amount, currency, payer_pays_commission, type,
         custom, custom_given, created_at, check_after, redacted_at)
       SELECT gen_random_uuid(), 'main', 'main', n::text, 1, 'PAID', 1, 'RUB', false, 'normal', '', true, now(), now(), now()
       FROM generate_series(1, 3000) n`,
    );
    await dataSource.query('ANALYZE payment_acceptance.bill');
    const plan = await dataSource.query<object[]>(
      `EXPLAIN SELECT intent_id FROM payment_acceptance.bill WHERE redacted_at IS NULL AND next_check_at IS NULL
       AND state NOT IN ('CREATING', 'UNKNOWN') AND created_at < now() ORDER BY created_at LIMIT 50`,
    );
    expect(JSON.stringify(plan)).toMatch(/Index Scan using bill_unredacted/);
  });
});
