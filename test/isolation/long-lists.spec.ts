import { afterEach, describe, expect, test } from '@jest/globals';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import { PaymentHealthIndicator } from 'nestjs-payment-acceptance/operations';
import { postbackFields, postJson } from '../support/http.js';
import { startWithOneBill, type RecordedHarness } from '../support/recorded-harness.js';

/** As many as are settled. */
const PAYMENTS = 5_000;
const RAISED = { maxAnswerBytes: 16 * 1024 ** 2 };

describe('a long list of payments', () => {
  let recorded: RecordedHarness;
  afterEach(() => recorded.close());

  async function count(of: string): Promise<number> {
    const [row] = await recorded.harness.host.dataSource.query<{ count: string }[]>(
      `SELECT count(*) AS count FROM payment_acceptance.${of}`,
    );
    return Number(row!.count);
  }

  test('a list of five thousand failures is settled by one check, in order', async () => {
    recorded = await startWithOneBill(RAISED);
    const { harness, recorder } = recorded;
    await harness.host.dataSource.query(
      `INSERT INTO payment_acceptance.consumer (name, event_name, last_seen_at)
     VALUES ('orders', 'payment.failed', $1), ('orders', 'payment.succeeded', $1)`,
      [new Date(Date.now() + 100 * 3_600_000)],
    );
    const data = Array.from({ length: PAYMENTS }, (_, index) => ({
      ...{ id: `p-${index}`, bill_id: 'bill-1', status: 'FAIL', amount: '10.00' },
      ...{ from_card: '411111******1111', currency_in: 'RUB' },
    }));
    data[2_500]!.status = 'SUCCESS';
    const list = async (): Promise<void> => {
      recorder.answer({ body: JSON.stringify({ success: true, data }) });
      harness.clock.advance(3_600_000);
      await harness.host.confirmer.runOnce();
    };
    await list();
    expect(await count(`bill WHERE state = 'PAID' AND failed_checks = 0`)).toBe(1);
    expect([await count('payment'), await count('event'), await count('delivery')]).toEqual([
      PAYMENTS,
      PAYMENTS,
      PAYMENTS,
    ]);
    // Only the first of the queue is to be delivered now, and the success comes last.
    expect(await count('delivery WHERE NOT behind')).toBe(1);
    const [last] = await harness.host.dataSource.query<{ name: string }[]>(
      'SELECT event_name AS name FROM payment_acceptance.delivery ORDER BY seq DESC LIMIT 1',
    );
    expect(last!.name).toBe('payment.succeeded');
    await list();
    expect([await count('payment'), await count('event'), await count('delivery')]).toEqual([
      PAYMENTS,
      PAYMENTS,
      PAYMENTS,
    ]);
  }, 60_000);

  test.each([
    [10_500, 'of the default limit', {}],
    [50_000, 'of a higher limit', RAISED],
  ])(
    'a list of %d payments beyond an answer %s opens a review, and a shorter one is settled',
    async (payments, _, http) => {
      recorded = await startWithOneBill(http);
      const { harness, recorder } = recorded;
      const check = async (length: number): Promise<void> => {
        const data = Array.from({ length }, (_, index) => ({
          ...{ id: `a-payment-of-the-service-${index}`, bill_id: 'bill-1', amount: '10.00', amount_received: '9.70' },
          ...{ status: index === 7 ? 'SUCCESS' : 'FAIL', from_card: '411111******1111', currency_in: 'RUB' },
          created_at: '2026-11-25 10:00:00',
        }));
        recorder.answer({ body: JSON.stringify({ success: true, data }) });
        harness.clock.advance(3_600_000);
        await harness.host.confirmer.runOnce();
      };
      await check(payments);
      await check(payments);
      expect(await count(`bill WHERE state = 'OPEN' AND failed_checks = 0`)).toBe(1);
      expect(await count(`review WHERE reason = 'too-many-payments' AND state = 'OPEN'`)).toBe(1);
      expect(await harness.host.app.get(PaymentHealthIndicator).isHealthy('payments')).toMatchObject({
        payments: { status: 'up' },
      });
      await check(2_500);
      expect(await count(`bill WHERE state = 'PAID' AND failed_checks = 0`)).toBe(1);
      expect(await count('payment')).toBe(2_500);
    },
  );

  test.each([1, 3, 4])(
    'a check that ends after part %d of a long list is completed by the next one, each payment once',
    async (ended) => {
      recorded = await startWithOneBill();
      const { harness, recorder } = recorded;
      const data = Array.from({ length: 2_000 }, (_, index) => ({
        ...{ id: `p-${index}`, bill_id: 'bill-1', status: index === 7 ? 'SUCCESS' : 'FAIL', amount: '10.00' },
        ...{ from_card: '411111******1111', currency_in: 'RUB' },
      }));
      const check = async (): Promise<void> => {
        recorder.answer({ body: JSON.stringify({ success: true, data }) });
        harness.clock.advance(3_600_000);
        await harness.host.confirmer.runOnce();
      };
      const probe = harness.host.app.get(PaymentProbe);
      let isSettling = false;
      let settled = 0;
      probe.reached = (point) => {
        isSettling ||= /payment_acceptance[._]payment\b/.test(point);
        if (point !== 'after COMMIT' || !isSettling) return;
        isSettling = false;
        settled += 1;
        if (settled === ended) throw new Error('the process is gone');
      };
      await check();
      probe.reached = () => undefined;
      expect(await count('payment')).toBe(Math.min(500 * ended, 1_999));
      expect(await count(`bill WHERE state = 'PAID'`)).toBe(0);
      await check();
      expect([await count('payment'), await count('event')]).toEqual([2_000, 2_000]);
      expect(await count(`bill WHERE state = 'PAID' AND failed_checks = 0`)).toBe(1);
    },
  );

  test('a payment that succeeded and that a long list says has failed stays, and opens a review', async () => {
    recorded = await startWithOneBill();
    const { harness, recorder } = recorded;
    const check = async (status: string): Promise<void> => {
      const data = Array.from({ length: 1_200 }, (_, index) => ({
        ...{ id: `p-${index}`, bill_id: 'bill-1', status: index === 7 ? status : 'FAIL', amount: '10.00' },
        ...{ from_card: '411111******1111', currency_in: 'RUB' },
      }));
      recorder.answer({ body: JSON.stringify({ success: true, data }) });
      harness.clock.advance(3_600_000);
      const fields = postbackFields({ InvId: 'order-1', OutSum: '10.00', TrsId: 'bill-1' });
      expect((await postJson(`${harness.host.url}/postback/payment`, fields)).status).toBe(200);
      await harness.host.confirmer.runOnce();
    };
    await check('SUCCESS');
    await check('FAIL');
    expect(await count(`payment WHERE payment_id = 'p-7' AND status = 'SUCCESS'`)).toBe(1);
    expect(await count(`review WHERE payment_id = 'p-7' AND reason = 'payment-changed'`)).toBe(1);
    expect(await count(`event WHERE name = 'payment.failed'`)).toBe(1_199);
  });
});
