import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import {
  PaymentOperatorActionError,
  PaymentChecks,
  PaymentOperations,
  PaymentReconciliation,
  type ReconciledPayment,
  type PaymentReconciliationOptions,
} from 'nestjs-payment-acceptance/operations';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../../libs/payment-acceptance/src/config/resolved-options.js';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { integer } from '../../libs/payment-acceptance/src/database/reading.js';
import { startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';

let harness: Harness;
let checks: PaymentChecks;

describe('actions of operators', () => {
  beforeAll(async () => {
    harness = await startHarness({ instances: 2, providers: [EffectWriter], options: { http: { attempts: 1 } } });
    checks = harness.host.app.get(PaymentChecks);
  });
  afterAll(() => harness.close());

  /** A payment whose callbacks are all lost. */
  async function paidUnseen(orderId: string, pay: Parameters<Harness['sandbox']['pay']>[1] = {}): Promise<string> {
    const { billId } = await harness.host.payments.createBill({ orderId, amount: '10' });
    await harness.sandbox.setFaults({ postbacks: { drop: 1 } });
    await harness.sandbox.pay(billId, pay);
    await harness.sandbox.clearFaults();
    return billId;
  }

  describe('a check by an operator', () => {
    test("an operator's check asks the service at once and settles, and the event is delivered as usual", async () => {
      const billId = await paidUnseen('unseen');
      const { intentId, ...checked } = await checks.check(billId);
      expect(checked).toMatchObject({
        shop: 'main',
        orderId: 'unseen',
        billId,
        stateBefore: 'OPEN',
        stateAfter: 'PAID',
        payments: [{ status: 'SUCCESS', amount: '10.00' }],
        events: ['payment.succeeded'],
      });
      await harness.settle();
      expect(await harness.effects()).toMatchObject([{ orderId: 'unseen' }]);
      expect(await checks.check(intentId)).toMatchObject({ stateBefore: 'PAID', events: [] });
    });

    test("an operator's check needs a bill of the shop that is not being checked already", async () => {
      const { billId } = await harness.host.payments.createBill({ orderId: 'strict', amount: '10' });
      await expect(checks.check(billId, 'eu')).rejects.toThrow(/Shop "eu" has no bill/);
      await expect(checks.check("'; --")).rejects.toBeInstanceOf(PaymentOperatorActionError);
      await expect(checks.check(billId, 'nobody')).rejects.toMatchObject({ code: 'unknown-shop' });
      await harness.host.dataSource.query(
        `UPDATE payment_acceptance.bill SET lease_until = now() + interval '1 day' WHERE bill_id = $1`,
        [billId],
      );
      await expect(checks.check(billId)).rejects.toThrow(/in progress/);
      await harness.host.dataSource.query(`UPDATE payment_acceptance.bill SET lease_until = NULL`);
    });

    test("an operator's check takes the lease, and counts among the requests of the shop", async () => {
      const billId = await paidUnseen('held');
      const hold = harness.sandbox.holdAnswers('payments');
      const checking = checks.check(billId);
      await hold.reached();
      const database = harness.host.app.get(Database, { strict: false });
      const [lease] = await database.rows<{ until: number }>({ until: integer })`
        SELECT ${database.dialect.epochMs('max(lease_until)')} AS until FROM payment_acceptance.bill`;
      const { checkMs } = harness.host.app.get<ResolvedOptions>(RESOLVED_OPTIONS).leases;
      expect(Math.abs(lease!.until - harness.clock.now().getTime() - checkMs)).toBeLessThan(20_000);
      const operations = harness.host.app.get(PaymentOperations);
      expect(operations.workload().checks).toContainEqual(expect.objectContaining({ shop: 'main', running: 1 }));
      hold.release();
      expect((await checking).stateAfter).toBe('PAID');
      expect(operations.workload().checks).toContainEqual(expect.objectContaining({ shop: 'main', running: 0 }));
    });

    test("an operator's check accepts a refused shop again if the service's error proves it known", async () => {
      const billId = await paidUnseen('accepted again');
      const { dataSource } = harness.host;
      await dataSource.query(`UPDATE payment_acceptance.shop_state SET refused_since = now() WHERE shop = 'main'`);
      await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
      await expect(checks.check(billId)).rejects.toMatchObject({ code: 'bill-not-found' });
      await harness.sandbox.clearFaults();
      const states = await harness.host.app.get(PaymentOperations).shopStates();
      expect(states.find(({ shop }) => shop === 'main')).toMatchObject({ refusedSince: null });
      expect((await checks.check(billId)).stateAfter).toBe('PAID');
    });

    test("an operator's check without an answer leaves the bill's schedule unchanged", async () => {
      const billId = await paidUnseen('unanswered');
      await harness.sandbox.setFaults({ requests: { status500: 1 } });
      await expect(checks.check(billId)).rejects.toMatchObject({ code: 'service-unavailable' });
      await harness.sandbox.clearFaults();
      const bill = (await harness.host.ledger()).bills.find((each) => each.billId === billId)!;
      expect(bill).toMatchObject({ state: 'OPEN', lastCheckError: null });
      expect((await checks.check(billId)).stateAfter).toBe('PAID');
    });

    test("an operator's check that cannot be settled releases the bill at once", async () => {
      const billId = await paidUnseen('unsettled');
      const rename = (from: string, to: string) =>
        harness.host.dataSource.query(`ALTER TABLE payment_acceptance.${from} RENAME TO ${to}`);
      await rename('event', 'away');
      await expect(checks.check(billId)).rejects.toThrow(/event/);
      await rename('away', 'event');
      expect((await checks.check(billId)).stateAfter).toBe('PAID');
      await harness.settle();
    });

    test("an operator's check with too many payments to list opens a review", async () => {
      const { billId } = await harness.host.payments.createBill({ orderId: 'crowded', amount: '10' });
      await harness.sandbox.setFaults({ requests: { tooManyPayments: 1 } });
      await expect(checks.check(billId)).rejects.toMatchObject({ code: 'too-many-payments' });
      await harness.sandbox.clearFaults();
      expect((await harness.host.ledger()).reviews).toMatchObject([
        { orderId: 'crowded', reason: 'too-many-payments' },
      ]);
      await harness.settle();
    });
  });

  describe('reconciliation', () => {
    const today = () => new Date().toISOString().slice(0, 10);
    async function reconcile(options: Partial<PaymentReconciliationOptions> = {}): Promise<ReconciledPayment[]> {
      const rows: ReconciledPayment[] = [];
      const reconciliation = harness.host.app.get(PaymentReconciliation);
      for await (const row of reconciliation.reconcile({ day: today(), shop: 'main', ...options })) rows.push(row);
      return rows;
    }
    const of = (rows: readonly ReconciledPayment[], orderId: string) => rows.filter((row) => row.orderId === orderId);

    test('reconciliation agrees on settled payments, and shows those missing in the ledger', async () => {
      const billId = await paidUnseen('lost-postback');
      const rows = await reconcile();
      expect(of(rows, 'unseen')).toMatchObject([
        {
          shop: 'main',
          billState: 'PAID',
          serviceStatus: 'SUCCESS',
          ledgerStatus: 'SUCCESS',
          serviceAmount: '10.00',
          ledgerAmount: '10.00',
          serviceCurrency: 'RUB',
          verdict: 'succeeded',
          differences: [],
        },
      ]);
      expect(of(rows, 'lost-postback')).toMatchObject([{ ledgerStatus: null, differences: ['missing-in-ledger'] }]);
      await checks.check(billId);
      expect(of(await reconcile(), 'lost-postback')).toMatchObject([{ differences: [] }]);
    });

    test('reconciliation names every difference', async () => {
      await checks.check(await paidUnseen('altered'));
      const alter = (change: string) =>
        harness.host.dataSource.query(
          `UPDATE payment_acceptance.payment SET ${change}
         WHERE intent_id IN (SELECT intent_id FROM payment_acceptance.bill WHERE order_id = 'altered')`,
        );
      await alter(`amount = 9.99, currency = 'EUR', status = 'FAIL'`);
      expect(of(await reconcile(), 'altered')).toMatchObject([{ differences: ['status', 'amount', 'currency'] }]);
      await alter(`amount = 10, currency = 'RUB', status = 'SUCCESS'`);
      await harness.host.dataSource.query(
        `UPDATE payment_acceptance.event SET "key" = 'another'
       WHERE intent_id IN (SELECT intent_id FROM payment_acceptance.bill WHERE order_id = 'altered')`,
      );
      expect(of(await reconcile(), 'altered')).toMatchObject([{ differences: ['event-missing'] }]);
      await alter(`payment_id = 'only-here'`);
      expect(of(await reconcile(), 'altered').map(({ paymentId, differences }) => [paymentId, differences])).toEqual(
        expect.arrayContaining([
          [expect.any(String), ['missing-in-ledger']],
          ['only-here', ['missing-at-service']],
        ]),
      );
    });

    test('reconciliation covers a bill that was attached days after its creation', async () => {
      const open = (change: string) =>
        harness.host.dataSource.query(
          `UPDATE payment_acceptance.bill SET opened_at = opened_at ${change} WHERE order_id = 'unseen'`,
        );
      await open(`+ interval '2 days'`);
      expect(of(await reconcile(), 'unseen')).toHaveLength(1);
      await open(`- interval '2 days'`);
    });

    test('reconciliation leaves out payments of other days, and bills that were not active', async () => {
      expect(await reconcile({ day: '2020-02-29' })).toEqual([]);
      const [row] = of(await reconcile(), 'unseen');
      await harness.host.dataSource.query(
        `UPDATE payment_acceptance.bill SET opened_at = opened_at - interval '9 days', ended_at = ended_at - interval '9 days'
       WHERE order_id = 'unseen'`,
      );
      await harness.host.dataSource.query(
        `UPDATE payment_acceptance.payment SET first_seen_at = now() - interval '9 days', changed_at = now() - interval '9 days',
         service_created_at = '2020-01-01 12:00:00' WHERE payment_id = $1`,
        [row!.paymentId],
      );
      expect(of(await reconcile(), 'unseen')).toEqual([]);
      expect(of(await reconcile({ followed: true }), 'unseen')).toMatchObject([{ differences: [] }]);
    });

    test('reconciliation continues after a bill without an answer, and stops if the service is down', async () => {
      await harness.sandbox.setFaults({ requests: { billNotFound: 1 } });
      const rows = await reconcile();
      expect(rows.length).toBeGreaterThan(3);
      expect(new Set(rows.map(({ differences, error }) => `${differences.join()} ${String(error)}`))).toEqual(
        new Set(['not-answered bill-not-found']),
      );
      await harness.sandbox.clearFaults();
      for (let index = 0; index < 10; index += 1) {
        await harness.host.payments.createBill({ orderId: `more-${index}`, amount: '1' });
      }
      await harness.sandbox.setFaults({ requests: { status500: 1 } });
      await expect(reconcile()).rejects.toMatchObject({ code: 'service-unavailable' });
      await harness.sandbox.clearFaults();
    });

    test.each(['yesterday', '2026-2-1', '2026-02-30', ''])(
      'reconciliation refuses %j, which is not a date',
      async (day) => {
        await expect(reconcile({ day })).rejects.toBeInstanceOf(PaymentOperatorActionError);
      },
    );
  });
});
