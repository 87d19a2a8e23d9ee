import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentReview } from 'nestjs-payment-acceptance';
import { PaymentChecks } from 'nestjs-payment-acceptance/operations';
import { MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { createdBill } from '../support/recorded-harness.js';
import { Recorder } from '../support/recorder.js';

@Injectable()
class Alerts {
  @OnPaymentReview({ consumer: 'alerts' })
  take(): void {}
}

let harness: Harness;
let recorder: Recorder;

describe('a list of payments that repeats an entry', () => {
  afterEach(async () => {
    await harness.close();
    await recorder.close();
  });

  test('a list that shows a payment twice settles its bill, and stores each event and review once', async () => {
    recorder = await new Recorder().open();
    const main = { shopId: 'shop-main', apiToken: MAIN_TOKEN, apiBaseUrl: recorder.url };
    // A delivery begins with the settlement only where the worker runs.
    harness = await startHarness({
      providers: [Alerts],
      options: { autoStart: true, pollMs: 3_600_000, shops: { main } },
    });
    recorder.answer(createdBill('bill-1'));
    await harness.host.payments.createBill({ orderId: 'order-1', amount: '10' });
    const paid = { id: 'p-1', bill_id: 'bill-1', status: 'SUCCESS', amount: '10', currency_in: 'RUB' };
    const foreign = { ...paid, id: 'p-2', bill_id: 'bill-2' };
    recorder.answer({ body: JSON.stringify({ success: true, data: [paid, paid, foreign, foreign] }) });
    await harness.host.app.get(PaymentChecks).check('bill-1');
    const { bills, events, reviews } = await harness.host.ledger();
    expect(bills[0]).toMatchObject({ state: 'PAID' });
    expect(reviews).toMatchObject([{ reason: 'foreign-bill', state: 'OPEN' }]);
    expect(events.map(({ name, deliveries }) => [name, deliveries.length]).sort()).toEqual([
      ['payment.review', 1],
      ['payment.succeeded', 0],
    ]);
  });
});
