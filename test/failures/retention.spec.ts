import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { RetentionWorker } from '../../libs/payment-acceptance/src/retention/retention.worker.js';
import { onPostgres } from '../support/database.js';
import { postbackFields, postForm, postJson, redirectFields } from '../support/http.js';
import { until } from '../support/until.js';
import { close, count, DAY, harness, open, paid, removeAll, rows, worker } from './support/retention.js';

describe('retention', () => {
  afterEach(close);

  /** Inserts that many consumed postbacks of that age. */
  const seed = (many: number, ageDays: number): Promise<unknown> =>
    harness.host.dataSource.query(
      `INSERT INTO payment_acceptance.callback
       (id, kind, shop, digest, corroboration, fields, received_at, pending, due_at, consumed_at)
     SELECT gen_random_uuid(), 'postback', 'main', 'match', '{}', '{"PayerEmail": "payer@example.test"}',
       now() - $2 * interval '1 day', false, now(), now() FROM generate_series(1, $1)`,
      [many, ageDays],
    );

  describe('callbacks', () => {
    test('callbacks lose their raw fields after 30 days and are deleted after 90, their outcome with them', async () => {
      await open(undefined);
      await paid('A-1');
      const [fresh] = await rows<{ fields: object; corroboration: object; outcome: string }>('callback');
      expect(fresh).toMatchObject({ fields: { InvId: 'A-1' }, outcome: 'confirmed', pending: false });
      harness.clock.advance(30 * DAY - 60_000);
      expect(await removeAll()).toEqual([]);
      harness.clock.advance(120_000);
      expect(await removeAll()).toEqual([1]);
      expect(await rows('callback')).toEqual([{ ...fresh, fields: {} }]);
      harness.clock.advance(60 * DAY - 180_000);
      expect(await removeAll()).toEqual([]);
      harness.clock.advance(240_000);
      expect(await removeAll()).toEqual([1]);
      expect(await count('callback')).toBe(0);
    });

    test('pending callbacks stay raw at any age, with a known bill or without one', async () => {
      await open({ redactCallbacksAfterMs: 1, deleteCallbacksAfterMs: 1 });
      const { billId } = await harness.host.payments.createBill({ orderId: 'A-1', amount: '10' });
      for (const TrsId of [billId, 'unknown-bill']) {
        await postJson(
          `${harness.host.url}/postback/payment`,
          postbackFields({ InvId: 'A-1', OutSum: '10.00', TrsId }),
        );
      }
      harness.clock.advance(3650 * DAY);
      expect(await removeAll()).toEqual([]);
      expect(await count('callback', `pending AND fields ->> 'InvId' = 'A-1'`)).toBe(2);
    });

    onPostgres(test)('callbacks that cannot be deleted do not keep others from being redacted', async () => {
      await open({ redactCallbacksAfterMs: 1, deleteCallbacksAfterMs: 30 * DAY });
      await paid('A-1');
      await seed(1, 40);
      const { dataSource } = harness.host;
      await dataSource.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'no right to delete'; END $$`);
      await dataSource.query(`CREATE TRIGGER refused BEFORE DELETE ON payment_acceptance.callback
        FOR EACH ROW EXECUTE FUNCTION refuse()`);
      harness.clock.advance(60_000);
      await expect(worker.runOnce()).rejects.toThrow('no right to delete');
      expect((await rows<{ fields: object }>('callback')).map(({ fields }) => fields)).toEqual([{}, {}]);
    });

    test('callbacks of a bill with an open review stay raw until it is decided', async () => {
      await open(undefined);
      const { billId } = await harness.host.payments.createBill({ orderId: 'A-1', amount: '10' });
      await harness.sandbox.pay(billId, { amount: '9.00' });
      await harness.settle();
      harness.clock.advance(365 * DAY);
      expect(await removeAll()).toEqual([]);
      expect(await count('callback', `fields <> '{}'`)).toBe(1);
      const [review] = (await harness.host.ledger()).reviews;
      await harness.host.app.get(PaymentReviews).dismiss(review!.id, { operator: 'ann' });
      expect(await removeAll()).toEqual([1]);
      expect([await count('callback'), await count('review')]).toEqual([0, 1]);
    });

    test('callbacks are deleted in batches, oldest first', async () => {
      await open({ batchSize: 100, redactCallbacksAfterMs: null });
      await seed(200, 100);
      await seed(150, 120);
      await seed(40, 80);
      expect(await worker.runOnce()).toBe(100);
      expect(await count('callback', `received_at < now() - interval '110 days'`)).toBe(50);
      expect(await removeAll()).toEqual([100, 100, 50]);
      expect(await count('callback')).toBe(40);
    });

    test('callbacks that somebody has locked are skipped by retention', async () => {
      await open({ batchSize: 100, redactCallbacksAfterMs: null });
      await seed(3, 100);
      const other = harness.host.dataSource.createQueryRunner();
      await other.startTransaction();
      const [locked] = (await other.query(
        `SELECT id FROM payment_acceptance.callback WHERE id = (
         SELECT id FROM payment_acceptance.callback ORDER BY received_at, id LIMIT 1) FOR UPDATE`,
      )) as { id: string }[];
      expect(await removeAll()).toEqual([2]);
      expect(await rows('callback')).toMatchObject([locked!]);
      await other.rollbackTransaction();
      await other.release();
      expect(await removeAll()).toEqual([1]);
    });

    onPostgres(test)('callbacks are removed by one instance at a time', async () => {
      await open({ batchSize: 10, redactCallbacksAfterMs: null });
      await seed(20, 100);
      const other = harness.host.dataSource.createQueryRunner();
      await other.startTransaction();
      await other.query('SELECT pg_advisory_xact_lock(7320114906)');
      expect(await worker.runOnce()).toBe(0);
      await other.rollbackTransaction();
      await other.release();
      expect(await worker.runOnce()).toBe(10);
      const another = await harness.start();
      const both = await Promise.all([worker.runOnce(), another.app.get(RetentionWorker).runOnce()]);
      expect(both.reduce((sum, size) => sum + size)).toBe(10);
    });

    onPostgres(test)('callbacks to remove are found through an index', async () => {
      await open(undefined);
      await seed(3_000, 1);
      await harness.host.dataSource.query('ANALYZE payment_acceptance.callback');
      for (const condition of ['NOT pending', `NOT pending AND fields <> '{}'::jsonb`]) {
        const plan = await harness.host.dataSource.query<{ 'QUERY PLAN': string }[]>(
          `EXPLAIN SELECT id FROM payment_acceptance.callback WHERE ${condition}
           AND received_at < now() - interval '30 days' ORDER BY received_at LIMIT 500`,
        );
        expect(JSON.stringify(plan)).toMatch(/Index Scan using callback_(consumed|unredacted)/);
      }
    });
  });

  describe('the retention worker', () => {
    test('the retention worker starts by itself, works through its batches, and ends with the application', async () => {
      await open({ batchSize: 50, everyMs: 1, pauseMs: 1 }, { autoStart: true });
      await seed(500, 100);
      await until(
        () => count('callback'),
        (left) => left === 0,
      );
    });

    onPostgres(test)('the retention worker logs a failure, and goes on afterwards', async () => {
      const said = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
      await open({ everyMs: 1 }, { autoStart: true });
      await harness.host.dataSource.query('ALTER TABLE payment_acceptance.callback RENAME COLUMN pending TO elsewhere');
      await until(
        () => count('migration'),
        () => said.mock.calls.some(([line]) => String(line).startsWith('removal-failed: ')),
      );
      await harness.host.dataSource.query('ALTER TABLE payment_acceptance.callback RENAME COLUMN elsewhere TO pending');
      await seed(10, 100);
      await until(
        () => count('callback'),
        (left) => left === 0,
      );
    });

    test.each([
      ['switched off', false as const],
      ['with every age null', { redactCallbacksAfterMs: null, deleteCallbacksAfterMs: null }],
    ])('the retention worker removes nothing when %s', async (_name, retention) => {
      await open(retention, { autoStart: true });
      await seed(10, 5000);
      expect(await worker.runOnce()).toBe(0);
      expect(await count('callback', `fields <> '{}'`)).toBe(10);
    });
  });

  test('redirects of a bill that the service never made stay pending for a day, and are then redacted as others', async () => {
    await open({ redactCallbacksAfterMs: 2 * DAY, deleteCallbacksAfterMs: null });
    await harness.sandbox.setFaults({ requests: { loseAnswer: 1 } });
    await harness.host.payments.createBill({ orderId: 'nameless', amount: '10' }).catch(() => undefined);
    await harness.sandbox.clearFaults();
    const redirect = redirectFields({ InvId: 'nameless', OutSum: '10.00' });
    expect((await postForm(`${harness.host.url}/redirect/payment/success`, redirect)).status).toBe(303);
    harness.clock.advance(DAY - 60_000);
    await harness.settle();
    expect(await rows('callback')).toMatchObject([{ pending: true }]);
    harness.clock.advance(120_000);
    await harness.settle();
    expect(await rows('callback')).toMatchObject([{ pending: false, outcome: null, fields: { InvId: 'nameless' } }]);
    harness.clock.advance(DAY);
    await removeAll();
    expect(await rows('callback')).toMatchObject([{ fields: {} }]);
  });
});
