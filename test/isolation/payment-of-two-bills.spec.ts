import { afterEach, describe, expect, test } from '@jest/globals';
import { holdUp } from '../support/hold-up.js';
import { createdBill, startRecordedHarness, type RecordedHarness } from '../support/recorded-harness.js';

describe('one payment that the service lists under two bills', () => {
  let recorded: RecordedHarness;
  afterEach(() => recorded.close());

  test('a payment listed under two bills pays one of them, also when settled at once, and the other is reviewed', async () => {
    recorded = await startRecordedHarness({}, {}, { checks: { concurrency: 1 } });
    const { harness, recorder } = recorded;
    const other = await harness.start();
    for (const order of ['a', 'b']) {
      recorder.answer(createdBill(`bill-${order}`));
      await harness.host.payments.createBill({ orderId: order, amount: '10' });
    }
    const payment = { id: 'p-1', status: 'SUCCESS', amount: '10.00', currency_in: 'RUB' };
    recorder.answer({ body: JSON.stringify({ success: true, data: [payment] }) });
    harness.clock.advance(60_000);
    const held = await holdUp(harness.host.dataSource, 'payment');
    const first = harness.host.confirmer.runOnce();
    await held.reached();
    const second = other.confirmer.runOnce();
    await held.reached(2);
    await held.letGo();
    await Promise.all([first, second]);
    const { bills, events, reviews } = await harness.host.ledger();
    expect(bills.map(({ state }) => state).sort()).toEqual(['OPEN', 'PAID']);
    expect(events.map(({ name }) => name).sort()).toEqual(['payment.review', 'payment.succeeded']);
    const open = bills.find(({ state }) => state === 'OPEN');
    expect(reviews).toEqual([
      expect.objectContaining({ reason: 'payment-moved', paymentId: 'p-1', orderId: open?.orderId, state: 'OPEN' }),
    ]);
  });
});
