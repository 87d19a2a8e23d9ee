import { afterEach, describe, expect, test } from '@jest/globals';
import { startHarness, type Harness } from '../support/harness.js';
import { PaymentChecks } from 'nestjs-payment-acceptance/operations';
import { ON_MARIADB, onPostgres } from '../support/database.js';
import { EffectWriter } from '../support/orders.js';
import { until } from '../support/until.js';

let harness: Harness;

describe('claims', () => {
  afterEach(() => harness.close());

  const query = (sql: string) => harness.host.dataSource.query<unknown[]>(sql);
  const paidOf = async (orderId: string) =>
    (await harness.effects()).filter((effect) => effect.orderId === orderId).length;

  onPostgres(describe)('a claim that fails half-way', () => {
    test('a claim that fails at one shop goes on with bills already claimed, without waiting for their leases', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      for (const shop of ['main', 'eu']) {
        const { billId } = await harness.host.payments.shop(shop).createBill({ orderId: `of-${shop}`, amount: '10' });
        await harness.sandbox.pay(billId);
      }
      await harness.sandbox.settled();
      await query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'not now'; END $$`);
      await query(
        `CREATE TRIGGER refuse BEFORE UPDATE ON payment_acceptance.bill FOR EACH ROW
       WHEN (NEW.shop = 'eu' AND NEW.lease_token IS NOT NULL) EXECUTE FUNCTION refuse()`,
      );
      // The shops take turns: one of the two polls starts with main.
      const looks = [await look(), await look()];
      expect(looks.sort()).toEqual([1, 'not now']);
      await harness.host.deliveries.runOnce();
      expect(await paidOf('of-main')).toBe(1);
      await query(`DROP TRIGGER refuse ON payment_acceptance.bill`);
      await harness.settle();
      expect(await paidOf('of-eu')).toBe(1);
    });

    test('bills whose callbacks a claim could not read are released, and settle afterwards', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      const { billId } = await harness.host.payments.createBill({ orderId: 'given-back', amount: '10' });
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
      await query('ALTER TABLE payment_acceptance.callback RENAME asks TO unreadable');
      expect(await look()).toContain('asks');
      await query('ALTER TABLE payment_acceptance.callback RENAME unreadable TO asks');
      await harness.settle();
      expect(await paidOf('given-back')).toBe(1);
    });
  });

  onPostgres(test)('a claim skips a bill that somebody has locked, and takes the others', async () => {
    // If it waits after all, it fails soon.
    harness = await startHarness({
      providers: [EffectWriter],
      through: (url) => `${url}?options=-c%20lock_timeout%3D3s`,
    });
    for (const orderId of ['locked', 'free']) {
      const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
      await harness.sandbox.pay(billId);
    }
    await harness.sandbox.settled();
    const other = harness.host.dataSource.createQueryRunner();
    await other.startTransaction();
    await other.query(`SELECT 1 FROM payment_acceptance.bill WHERE order_id = 'locked' FOR UPDATE`);
    expect(await harness.host.confirmer.runOnce()).toBe(1);
    await harness.host.deliveries.runOnce();
    expect([await paidOf('locked'), await paidOf('free')]).toEqual([0, 1]);
    await other.rollbackTransaction();
    await other.release();
    await harness.settle();
    expect(await paidOf('locked')).toBe(1);
  });

  test("an operator's check of a bill waits for its settlement, and does not block it", async () => {
    harness = await startHarness({});
    const { intentId, billId } = await harness.host.payments.createBill({ orderId: 'one', amount: '10' });
    const settlement = harness.host.dataSource.createQueryRunner();
    await settlement.startTransaction();
    await settlement.query(`SELECT 1 FROM payment_acceptance.bill WHERE intent_id = '${intentId}' FOR UPDATE`);
    const checked = harness.host.app.get(PaymentChecks).check(billId);
    const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> ${ON_MARIADB ? 'connection_id()' : 'pg_backend_pid()'}
      AND ${ON_MARIADB ? `query LIKE '%payment_acceptance_bill%FOR UPDATE'` : `wait_event_type = 'Lock'`}`;
    await until(
      () => query(waiting),
      (rows) => rows.length === 1,
    );
    // Changes an entry of every index that holds the bill, except that of its key.
    await settlement.query(
      `UPDATE payment_acceptance.bill SET bill_id = 'changed', state = 'PAID', next_check_at = NULL WHERE intent_id = '${intentId}'`,
    );
    await settlement.rollbackTransaction();
    await settlement.release();
    expect(await checked).toMatchObject({ intentId, stateAfter: 'OPEN' });
  });

  const look = () => harness.host.confirmer.runOnce().catch((error: unknown) => (error as Error).message);
});
