import { afterEach, describe, expect, test } from '@jest/globals';
import { defaultJudge } from 'nestjs-payment-acceptance';
import type { TestedOptions } from '../support/options.js';
import { PaymentServiceClient } from '../../libs/payment-acceptance/src/client/payment-service.client.js';
import { startHarness, type Harness } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { EffectWriter } from '../support/orders.js';
import { Statements } from '../support/statements.js';
import { until } from '../support/until.js';

let harness: Harness;

describe('bills that are settled together', () => {
  const closeLater = closing();
  afterEach(() => harness.close());

  const start = async (options: TestedOptions = {}) => {
    harness = await startHarness({
      providers: [EffectWriter],
      // Half of it is for handlers.
      poolSize: 16,
      options: { checks: { concurrency: 16 }, ...options },
    });
    // One-time and periodic work first.
    await pay('before');
    await harness.settle();
  };

  function counting(): Statements {
    const count = new Statements();
    closeLater(count.stop);
    return count;
  }

  /** Pays a bill of each order; their postbacks are stored then. */
  async function pay(...orderIds: string[]): Promise<string[]> {
    const billIds: string[] = [];
    for (const orderId of orderIds) {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' }, { newAttempt: true });
      await harness.sandbox.pay(billId);
      billIds.push(billId);
    }
    await harness.sandbox.settled();
    return billIds;
  }

  /** Holds the service's answers until that many have arrived; returns their number. */
  function gather(count: number): () => number {
    const client = harness.host.app.get(PaymentServiceClient, { strict: false });
    const list = client.readPaymentList.bind(client);
    let open = (): void => undefined;
    const all = new Promise<void>((resolve) => (open = resolve));
    let came = 0;
    client.readPaymentList = async (...parameters) => {
      const listed = await list(...parameters);
      if (++came === count) open();
      await all;
      return listed;
    };
    return () => came;
  }

  const ORDERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

  async function states(): Promise<Record<string, string>> {
    const { bills } = await harness.host.ledger();
    return Object.fromEntries(bills.map(({ orderId, state }) => [orderId, state]));
  }

  test('createBill takes 3 statements for a new order, and 9 for one that has a bill', async () => {
    await start();
    const count = counting();
    const create = (newAttempt: boolean) =>
      harness.host.payments.createBill({ orderId: 'new', amount: '10' }, { newAttempt });
    await create(false);
    expect(count.take()).toEqual({ statements: 3, commits: 3 });
    await create(true);
    expect(count.take()).toEqual({ statements: 9, commits: 4 });
  });

  describe('statements and commits per payment', () => {
    test('one payment is settled by 7 statements and 2 commits, and delivered by 6 and 2', async () => {
      await start();
      await pay('one');
      const count = counting();
      expect(await harness.host.confirmer.runOnce()).toBe(1);
      expect(count.take()).toEqual({ statements: 7, commits: 2 });
      expect(await harness.host.deliveries.runOnce()).toBe(1);
      // The claim; then start, lock, the handler's own statement, done-mark, commit.
      expect(count.take()).toEqual({ statements: 6, commits: 2 });
    });

    test('eight payments at once are settled by the same 7 statements and 2 commits, and delivered one by one', async () => {
      await start();
      await pay(...ORDERS);
      gather(8);
      const count = counting();
      expect(await harness.host.confirmer.runOnce()).toBe(8);
      expect(count.take()).toEqual({ statements: 7, commits: 2 });
      expect(await harness.host.deliveries.runOnce()).toBe(8);
      expect(count.take()).toEqual({ statements: 1 + 8 * 5, commits: 1 + 8 });
      expect(await harness.effects()).toHaveLength(1 + 8);
    });
  });

  describe('bills that are settled in one transaction', () => {
    test('a bill whose settlement the database refuses fails alone among those settled with it', async () => {
      await start();
      const [poison] = await pay(...ORDERS);
      await harness.host.dataSource.query(
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
       CREATE TRIGGER refuse BEFORE INSERT ON payment_acceptance.payment FOR EACH ROW
       WHEN (new.payment_id = '${harness.sandbox.bill(poison!).payments[0]!.id}') EXECUTE FUNCTION refuse()`,
      );
      gather(8);
      expect(await harness.host.confirmer.runOnce()).toBe(8);
      const settled = await states();
      expect(ORDERS.map((order) => settled[order])).toEqual(['OPEN', ...Array<string>(7).fill('PAID')]);
      await harness.host.dataSource.query('DROP TRIGGER refuse ON payment_acceptance.payment');
      harness.clock.advance(600_000);
      await harness.settle();
      expect((await states())['a']).toBe('PAID');
      expect(await harness.effects()).toHaveLength(1 + 8);
    });

    test('a bill for which the judge throws fails alone among those settled with it', async () => {
      await start({
        judge: (bill, payments) => {
          if (bill.orderId === 'c') throw new Error('not this one');
          return defaultJudge(bill, payments);
        },
      });
      await pay('b', 'c', 'd');
      gather(3);
      const count = counting();
      expect(await harness.host.confirmer.runOnce()).toBe(3);
      // And one to postpone the failed check.
      expect(count.take()).toEqual({ statements: 7 + 1, commits: 2 + 1 });
      expect(await states()).toMatchObject({ b: 'PAID', c: 'OPEN', d: 'PAID' });
    });

    test('a bill whose order somebody else has locked keeps none of the others waiting', async () => {
      await start();
      await pay('b', 'c', 'd');
      const other = harness.host.dataSource.createQueryRunner();
      await other.startTransaction();
      await other.query(`SELECT FROM payment_acceptance.shop_order WHERE order_id = 'c' FOR UPDATE`);
      gather(3);
      const checked = harness.host.confirmer.runOnce();
      await until(states, ({ b, d }) => b === 'PAID' && d === 'PAID');
      expect((await states())['c']).toBe('OPEN');
      await other.rollbackTransaction();
      await other.release();
      expect(await checked).toBe(3);
      expect((await states())['c']).toBe('PAID');
    });

    test('two bills of one order settled together make one first payment and one second-payment review', async () => {
      await start();
      await pay('twice', 'twice');
      gather(2);
      expect(await harness.host.confirmer.runOnce()).toBe(2);
      const rows: { first: boolean }[] = await harness.host.dataSource.query(
        `SELECT (payload->>'firstForOrder')::boolean AS first FROM payment_acceptance.event
       WHERE name = 'payment.succeeded' AND payload->>'orderId' = 'twice' ORDER BY 1`,
      );
      expect(rows.map(({ first }) => first)).toEqual([false, true]);
      const { reviews } = await harness.host.ledger();
      expect(reviews.map(({ reason }) => reason)).toEqual(['second-payment']);
    });

    test('of two answers about one bill, only that of the current claim settles', async () => {
      await start();
      const { billId } = await harness.host.payments.createBill({ orderId: 'claimed-twice', amount: '10' });
      harness.clock.advance(60_000);
      const came = gather(2);
      const stale = harness.host.confirmer.runOnce();
      await until(
        async () => {
          await states();
          return came();
        },
        (answers) => answers === 1,
      );
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
      harness.clock.advance(61_000);
      const current = harness.host.confirmer.runOnce();
      expect(await Promise.all([stale, current])).toEqual([1, 1]);
      expect((await states())['claimed-twice']).toBe('PAID');
      for (let day = 0; day < 6; day += 1) {
        harness.clock.advance(86_400_000);
        await harness.settle();
      }
      const { bills, events } = await harness.host.ledger();
      expect(bills.find(({ orderId }) => orderId === 'claimed-twice')?.state).toBe('PAID');
      expect(events.filter(({ orderId }) => orderId === 'claimed-twice').map(({ name }) => name)).toEqual([
        'payment.succeeded',
      ]);
    });

    test('a settlement that hangs is left to its lease, and the other bills are settled', async () => {
      await start({
        http: { totalTimeoutMs: 2_000, connectTimeoutMs: 500 },
        checks: { concurrency: 16 },
      });
      const { dataSource, confirmer } = harness.host;
      const holder = dataSource.createQueryRunner();
      await holder.query('SELECT pg_advisory_lock(4711)');
      const [stuck] = await pay('stuck');
      await dataSource.query(
        `CREATE FUNCTION hang() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NEW; END $$;
       CREATE TRIGGER hang BEFORE INSERT ON payment_acceptance.payment FOR EACH ROW
       WHEN (new.payment_id = '${harness.sandbox.bill(stuck!).payments[0]!.id}') EXECUTE FUNCTION hang()`,
      );
      const hanging = confirmer.runOnce();
      const waiting = () =>
        dataSource.query<unknown[]>(`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`);
      await until(waiting, (locks) => locks.length === 1);
      await pay('b', 'c');
      expect(await confirmer.runOnce()).toBe(2);
      expect(await states()).toMatchObject({ b: 'PAID', c: 'PAID', stuck: 'OPEN' });
      expect(await hanging).toBe(1);
      await holder.query('SELECT pg_advisory_unlock(4711)');
      await holder.release();
      // Running work may still finish; it held the lock of its bill.
      await until(states, (all) => all['stuck'] === 'PAID');
      await harness.settle();
      expect((await harness.effects()).filter(({ orderId }) => orderId === 'stuck')).toHaveLength(1);
    });
  });
});
