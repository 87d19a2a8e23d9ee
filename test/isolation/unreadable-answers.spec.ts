import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PaymentHealthIndicator } from 'nestjs-payment-acceptance/operations';
import { until } from '../support/until.js';
import { startWithOneBill, type RecordedHarness } from '../support/recorded-harness.js';

const MINUTE = 60_000;
const PAID = { id: 'p-1', bill_id: 'bill-1', status: 'SUCCESS', amount: '10.00', currency_in: 'RUB' };

describe('an answer of the service that cannot be read as a whole', () => {
  let recorded: RecordedHarness;
  beforeEach(async () => {
    recorded = await startWithOneBill();
  });
  afterEach(() => recorded.close());

  async function lists(data: object): Promise<void> {
    recorded.recorder.answer({ body: JSON.stringify({ success: true, ...data }) });
    recorded.harness.clock.advance(MINUTE);
    await recorded.harness.host.confirmer.runOnce();
  }

  test.each<[string, unknown]>([
    ['without an id', { ...PAID, id: undefined }],
    ['that is no object', 'SUCCESS'],
  ])('settles what can be read beside an entry %s, and has the rest reviewed, once', async (_what, entry) => {
    await lists({ data: [entry, PAID] });
    await lists({ data: [entry, PAID] });
    const { bills, events, reviews } = await recorded.harness.host.ledger();
    expect(bills).toMatchObject([{ state: 'PAID' }]);
    expect(events.map(({ name }) => name).sort()).toEqual(['payment.review', 'payment.succeeded']);
    expect(reviews).toMatchObject([{ reason: 'unreadable-payment', state: 'OPEN', orderId: 'order-1' }]);
  });

  test('shows in health as a service that does not answer, though it answers 200', async () => {
    for (let time = 0; time < 3; time += 1) await lists({ payments: [PAID] });
    const { payments } = await recorded.harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    expect(payments.degraded).toContain('service-not-answering');
    await lists({ data: [PAID] });
    const after = await recorded.harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    expect(after.payments.degraded).not.toContain('service-not-answering');
  });

  test('of one bill again and again shows in health within ten minutes, and no longer than that', async () => {
    const health = async () => (await recorded.harness.host.app.get(PaymentHealthIndicator).isHealthy('p')).p;
    for (let minute = 0; minute < 10; minute += 1) await lists({ payments: [PAID] });
    const failing = await until(health, ({ degraded }) => degraded.includes('checks-failing'));
    expect(failing.backlog?.failingShops).toEqual([{ shop: 'main', bills: 1 }]);
    recorded.harness.clock.advance(10 * MINUTE);
    await lists({ data: [PAID] });
    const after = await until(health, ({ degraded }) => !degraded.includes('checks-failing'));
    expect(after.backlog?.failingShops).toEqual([]);
  });
});
