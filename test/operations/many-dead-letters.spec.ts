import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { startHarness, type Harness } from '../support/harness.js';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { ON_MARIADB } from '../support/database.js';
import { WHOLE_FORM } from '../support/forms.js';
import { pay } from '../support/pay.js';
import { scans, type PlanNode } from '../support/plans.js';

const COUNT = 3_000;

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take(): void {}
}

// Its statistics are PostgreSQL's: MariaDB has no partial index, and finds the heads of queues by their key.
(ON_MARIADB ? describe.skip : describe)('thousands of dead letters', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  const query = <Row>(sql: string): Promise<Row[]> => harness.host.dataSource.query(sql);

  /** Dead letters, or deliveries that wait for their order. @param isAnalysed while nothing was pending */
  async function seed(isAnalysed: boolean, isOrderless = false): Promise<void> {
    harness = await startHarness({ providers: [Orders] });
    await pay(harness, 'first');
    await harness.settle();
    const made = `(SELECT i, md5('bill ' || i)::uuid AS bill, md5('event ' || i)::uuid AS event FROM generate_series(1, ${COUNT}) i) made`;
    for (const table of ['bill', 'event', 'delivery']) {
      await query(`ALTER TABLE payment_acceptance.${table} SET (autovacuum_enabled = false)`);
    }
    if (isAnalysed) await query('ANALYZE payment_acceptance.delivery');
    await query(`INSERT INTO payment_acceptance.shop_order (shop, order_id) SELECT 'main', 'dead-' || i FROM ${made}`);
    await query(`INSERT INTO payment_acceptance.bill SELECT (jsonb_populate_record(b, jsonb_build_object(
      'intent_id', made.bill, 'order_id', 'dead-' || made.i, 'bill_id', 'dead-' || made.i))).* FROM payment_acceptance.bill b, ${made}`);
    await query(`INSERT INTO payment_acceptance.event (id, key, name, shop, intent_id, payload, occurred_at)
      SELECT made.event, 'dead ' || made.i, name, shop, made.bill, payload, occurred_at FROM payment_acceptance.event, ${made}`);
    await query(`INSERT INTO payment_acceptance.delivery (event_id, event_name, seq, intent_id, consumer, state, due_at, ended_at, behind, last_error_code)
      SELECT id, name, seq, intent_id, 'orders', ${isOrderless ? "'PENDING', occurred_at, NULL, false, 'order-not-found'" : "'DEAD', occurred_at, occurred_at, true, 'Error'"} FROM payment_acceptance.event WHERE key LIKE 'dead %'`);
  }

  const FILTERS = [
    ['all', {}, false],
    ['of a consumer', { consumer: 'orders' }, false],
    ['of a shop', { shop: 'main' }, false],
    ['that wait for their order', {}, true],
    ['that wait for their order, of a consumer', { consumer: 'orders' }, true],
  ] as const;
  describe.each([
    ['was analysed while nothing was pending', true],
    ['was never analysed', false],
  ])('where the table %s', (_when, isAnalysed) => {
    // Filters and statistics choose the plan: each of them once, and in the whole form each with each.
    test.each(FILTERS.filter((_, place) => WHOLE_FORM || place % 2 === (isAnalysed ? 0 : 1)))(
      'thousands of dead letters are replayed by one call: %s',
      async (_which, filter, isOrderless) => {
        await seed(isAnalysed, isOrderless);
        const sent = sentTo(harness.host.app.get(Database, { strict: false }));
        expect(await harness.host.app.get(PaymentOperations).replay(filter, { operator: 'ann' })).toBe(COUNT);
        const [open] = await query<{ count: number }>(
          `SELECT count(*)::int AS count FROM payment_acceptance.delivery WHERE state = 'PENDING' AND NOT behind`,
        );
        expect(open?.count).toBe(COUNT);
        // Whatever waits already, the last pieces read about as many rows as they have. How large a table is, the planner knows.
        const reads = (await Promise.all(sent.slice(-16).map(readBy))).flat();
        expect(reads.filter(({ scan, rows }) => !scan.startsWith('Seq') && rows > COUNT / 4)).toEqual([]);
      },
    );
  });

  test.each([
    ['was analysed while there were few', true],
    ['was never analysed', false],
  ])('thousands of past events are delivered by one call, where the table %s', async (_when, isAnalysed) => {
    await seed(isAnalysed);
    await query(
      `INSERT INTO payment_acceptance.consumer (name, event_name, last_seen_at) VALUES ('late', 'payment.succeeded', now())`,
    );
    const sent = sentTo(harness.host.app.get(Database, { strict: false }));
    const operations = harness.host.app.get(PaymentOperations);
    expect(await operations.deliverPastEvents({ consumer: 'late' }, { operator: 'ann' })).toBe(COUNT + 1);
    // The first page again, as it found the tables.
    await query(`DELETE FROM payment_acceptance.delivery WHERE consumer = 'late'`);
    const reads = await readBy(sent[0]!);
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.filter(({ rows }) => rows > COUNT / 4)).toEqual([]);
  });

  interface Sent {
    readonly text: string;
    readonly values: readonly unknown[];
  }

  /** What reads or changes deliveries from now on. */
  function sentTo(database: Pick<Database, 'send'>): Sent[] {
    const sent: Sent[] = [];
    const send = database.send.bind(database);
    database.send = (connection, text, values = []) => {
      if (text.includes('payment_acceptance.delivery')) sent.push({ text, values });
      return send(connection, text, values);
    };
    return sent;
  }

  async function readBy({ text, values }: Sent) {
    const runner = harness.host.dataSource.createQueryRunner();
    await runner.startTransaction();
    const [row] = (await runner.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, [...values])) as [
      { 'QUERY PLAN': [{ Plan: PlanNode }] },
    ];
    await runner.rollbackTransaction();
    await runner.release();
    return scans(row['QUERY PLAN'][0].Plan).map((scan) => ({ ...scan, statement: text.slice(0, 80) }));
  }

  test('deliveries that a crash left marked as waiting are released a thousand at a time', async () => {
    await seed(true);
    await query(
      `UPDATE payment_acceptance.delivery SET behind = true, state = 'PENDING', ended_at = NULL WHERE state = 'DEAD'`,
    );
    const behind = async (): Promise<number> => {
      const [row] = await query<{ count: number }>(
        `SELECT count(*)::int AS count FROM payment_acceptance.delivery WHERE state = 'PENDING' AND behind`,
      );
      return row!.count;
    };
    harness.clock.advance(60_000);
    const left: number[] = [];
    for (let poll = 1; poll <= 3; poll += 1) {
      await harness.host.deliveries.runOnce();
      left.push(await behind());
    }
    expect(left).toEqual([COUNT - 1_000, COUNT - 2_000, COUNT - 3_000]);
    await harness.host.deliveries.runOnce();
    expect(await query(`SELECT 1 FROM payment_acceptance.delivery WHERE attempts > 0 LIMIT 1`)).toHaveLength(1);
  });
});
