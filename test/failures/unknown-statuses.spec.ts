import { afterEach, describe, expect, test } from '@jest/globals';
import { judgePayment, type Judge } from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator } from 'nestjs-payment-acceptance/operations';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';

const byText: Judge = (bill, payments) =>
  payments.map((payment) => {
    if (payment.statusText === 'HOLD') return { kind: 'pending' };
    if (payment.statusText === 'OVERPAID') return judgePayment(bill, { ...payment, status: 'SUCCESS' });
    return judgePayment(bill, payment);
  });

describe('a payment with an undocumented status', () => {
  let recorded: RecordedHarness;
  afterEach(() => recorded.close());

  async function start(judge?: Judge): Promise<void> {
    recorded = await startRecordedHarness({}, {}, judge && { judge });
    recorded.recorder.answer(createdBill('bill-1'));
    await recorded.harness.host.payments.createBill({ orderId: 'order-1', amount: '10' });
  }

  /** One check of the bill; resolves with what the ledger then has. */
  async function check(status: string, amount = '10.00') {
    const { harness, recorder } = recorded;
    const payment = { id: 'p-1', bill_id: 'bill-1', status, amount, currency_in: 'RUB' };
    recorder.answer({ body: JSON.stringify({ success: true, data: [payment] }) });
    harness.clock.advance(25 * 3_600_000);
    await harness.host.confirmer.runOnce();
    const { bills, events, reviews } = await harness.host.ledger();
    return {
      state: bills[0]!.state,
      failing: bills[0]!.lastCheckError ?? null,
      events: events.map(({ name }) => name).sort(),
      reviews: reviews.map(({ reason }) => reason).sort(),
    };
  }

  test.each(['OVERPAID', 'REFUNDED', 'Paid'])(
    'a payment with the undocumented status %s is reviewed at its first listing, and degrades health',
    async (status) => {
      await start();
      const expected = { state: 'OPEN', failing: null, events: ['payment.review'], reviews: ['unknown-status'] };
      expect(await check('PROCESS')).toMatchObject({ events: [] });
      expect(await check(status)).toEqual(expected);
      expect(await check(status)).toEqual(expected);
      const { payments } = await recorded.harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
      expect(payments.degraded).toEqual(['unknown-statuses']);
      // What it means becomes known after all.
      expect(await check('SUCCESS')).toMatchObject({
        state: 'PAID',
        events: expect.arrayContaining(['payment.succeeded']) as unknown,
      });
    },
  );

  test.each(['success', ' Success '])(
    'a payment with the status %j is a success, not an undocumented status',
    async (status) => {
      await start();
      expect(await check(status)).toMatchObject({ state: 'PAID', events: ['payment.succeeded'], reviews: [] });
    },
  );

  test("an undocumented status that the host's judge knows is decided by it, once", async () => {
    await start(byText);
    expect(await check('HOLD')).toEqual({ state: 'OPEN', failing: null, events: [], reviews: [] });
    const paid = {
      state: 'PAID',
      failing: null,
      events: ['payment.review', 'payment.succeeded'],
      reviews: ['overpaid'],
    };
    expect(await check('OVERPAID', '12.00')).toEqual(paid);
    expect(await check('OVERPAID', '12.00')).toEqual(paid);
    expect(await check('SUCCESS', '12.00')).toEqual(paid);
    expect(await check('FAIL', '12.00')).toMatchObject({ state: 'PAID', reviews: ['overpaid', 'payment-changed'] });
  });
});
