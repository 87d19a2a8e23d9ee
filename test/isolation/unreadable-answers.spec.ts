import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PaymentHealthIndicator, PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { BillInquiry } from '../../libs/payment-acceptance/src/settlement/bill-inquiry.js';
import { postbackFields, postJson } from '../support/http.js';
import { until } from '../support/until.js';
import { startWithOneBill, type RecordedHarness } from '../support/recorded-harness.js';

const MINUTE = 60_000;
const PAID = { id: 'p-1', bill_id: 'bill-1', status: 'SUCCESS', amount: '10.00', currency_in: 'RUB' };

describe('an answer of the service that cannot be read as a whole', () => {
  let recorded: RecordedHarness;
  beforeEach(async () => {
    recorded = await startWithOneBill({}, { callbacks: { maxUnmatched: 4, inquiriesPerHour: 3_600 } });
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
  ])('an answer with an entry %s settles the other entries, and makes one review', async (_what, entry) => {
    await lists({ data: [entry, PAID] });
    await lists({ data: [entry, PAID] });
    const { bills, events, reviews } = await recorded.harness.host.ledger();
    expect(bills).toMatchObject([{ state: 'PAID' }]);
    expect(events.map(({ name }) => name).sort()).toEqual(['payment.review', 'payment.succeeded']);
    expect(reviews).toMatchObject([{ reason: 'unreadable-payment', state: 'OPEN', orderId: 'order-1' }]);
  });

  test('an unreadable answer keeps its bill open while its review is open', async () => {
    const { host, clock } = recorded.harness;
    await lists({ data: ['SUCCESS'] });
    clock.advance(3 * 24 * 60 * MINUTE);
    await lists({ data: ['SUCCESS'] });
    const { bills, reviews } = await host.ledger();
    expect(bills).toMatchObject([{ state: 'OPEN' }]);
    clock.advance(12 * 60 * MINUTE);
    await host.app.get(PaymentReviews).dismiss(reviews[0]!.id, { operator: 'test', note: 'no money came' });
    clock.advance(18 * 60 * MINUTE);
    await lists({ data: ['SUCCESS'] });
    expect((await host.ledger()).bills).toMatchObject([{ state: 'EXPIRED' }]);
  });

  test('unreadable answers with status 200 degrade health as a service that does not answer', async () => {
    for (let time = 0; time < 3; time += 1) await lists({ payments: [PAID] });
    const { payments } = await recorded.harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    expect(payments.degraded).toContain('service-not-answering');
    await lists({ data: [PAID] });
    const after = await recorded.harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    expect(after.payments.degraded).not.toContain('service-not-answering');
  });

  test('a postback that waits for an unreadable answer of an unscheduled bill degrades health', async () => {
    await lists({ data: [PAID] });
    for (let day = 0; day < 9; day += 1) {
      recorded.harness.clock.advance(24 * 60 * MINUTE);
      await recorded.harness.host.confirmer.runOnce();
    }
    expect((await recorded.harness.host.ledger()).bills).toMatchObject([{ state: 'PAID', nextCheckAt: null }]);
    const fields = postbackFields({ InvId: 'order-1', OutSum: '10.00', TrsId: 'bill-1' });
    expect((await postJson(`${recorded.harness.host.url}/postback/payment`, fields)).status).toBe(200);
    for (let minute = 0; minute < 40; minute += 1) await lists({ payments: [PAID] });
    const { payments } = await recorded.harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    expect(payments.degraded).toContain('checks-overdue');
  });

  test("a gateway's refusals never end the hint of a bill that is no longer scheduled", async () => {
    await lists({ data: [PAID] });
    for (let day = 0; day < 9; day += 1) {
      recorded.harness.clock.advance(24 * 60 * MINUTE);
      await recorded.harness.host.confirmer.runOnce();
    }
    const fields = postbackFields({ InvId: 'order-1', OutSum: '10.00', TrsId: 'bill-1' });
    expect((await postJson(`${recorded.harness.host.url}/postback/payment`, fields)).status).toBe(200);
    recorded.recorder.answer({ status: 403, body: '<html>Forbidden</html>' });
    for (let minute = 0; minute < 120; minute += 1) {
      recorded.harness.clock.advance(MINUTE);
      await recorded.harness.host.confirmer.runOnce();
    }
    for (let minute = 0; minute < 30; minute += 1) await lists({ data: [PAID, { ...PAID, id: 'p-2' }] });
    const { events } = await recorded.harness.host.ledger();
    expect(events.filter(({ name }) => name === 'payment.succeeded')).toHaveLength(2);
  });

  test("a gateway's refusals never delete the postback of an unknown bill, however many wait", async () => {
    const { host, clock } = recorded.harness;
    for (const TrsId of ['lost-1', 'lost-2', 'lost-3']) {
      const fields = postbackFields({ InvId: `order of ${TrsId}`, OutSum: '10.00', TrsId });
      expect((await postJson(`${host.url}/postback/payment`, fields)).status).toBe(200);
    }
    clock.advance(2 * MINUTE);
    recorded.recorder.answer({ status: 403, body: '<html>Forbidden</html>' });
    for (let second = 0; second < 10; second += 1) {
      clock.advance(1_000);
      await host.app.get(BillInquiry).runOnce();
    }
    expect(recorded.recorder.requests.length).toBeGreaterThan(1);
    const [waiting] = await host.dataSource.query<[{ n: string }]>(
      "SELECT count(*) AS n FROM payment_acceptance.callback WHERE bill_id LIKE 'lost-%'",
    );
    expect(Number(waiting.n)).toBe(3);
  });

  test('a gateway that redirects every request degrades health', async () => {
    for (let time = 0; time < 3; time += 1) {
      recorded.recorder.answer({ status: 302, headers: { location: '/login' } });
      recorded.harness.clock.advance(MINUTE);
      await recorded.harness.host.confirmer.runOnce();
    }
    const { payments } = await recorded.harness.host.app.get(PaymentHealthIndicator).isHealthy('payments');
    expect(payments.degraded).toContain('service-not-answering');
  });

  test('a list whose pages take longer than a check is a failed check, without further requests', async () => {
    const page = JSON.stringify({ success: true, data: [PAID], next_cursor: 'more' });
    recorded.recorder.answer((_request, response) => {
      recorded.harness.clock.advance(11_000);
      response.end(page);
    });
    recorded.harness.clock.advance(MINUTE);
    await recorded.harness.host.confirmer.runOnce();
    expect(recorded.recorder.requests).toHaveLength(1);
    const { bills } = await recorded.harness.host.ledger();
    expect(bills).toMatchObject([{ lastCheckError: expect.stringContaining('the list continues after page 1') }]);
  });

  test('one bill whose checks keep failing degrades health within ten minutes, until a check succeeds', async () => {
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
