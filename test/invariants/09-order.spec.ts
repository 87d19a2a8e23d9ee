import { afterEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { startHarness, type Harness } from '../support/harness.js';
import { onPostgres } from '../support/database.js';

let harness: Harness;

/** Records its calls, and fails as often as the test says. */
function recorder(failures: number) {
  const calls: string[] = [];
  let left = failures;
  @Injectable()
  class Recorder {
    @OnPaymentSucceeded({ consumer: 'orders' })
    @OnPaymentFailed({ consumer: 'orders' })
    take({ name }: PaymentSucceededEvent | PaymentFailedEvent): Promise<void> {
      calls.push(name);
      left -= 1;
      return left >= 0 ? Promise.reject(new Error('not now')) : Promise.resolve();
    }
  }
  return { calls, Recorder };
}

/** One bill with a failed and a successful payment that one answer shows together. */
const failThenPay = async () => {
  const { billId } = await harness.host.payments.createBill({ orderId: 'ordered', amount: '10' });
  await harness.sandbox.pay(billId, { outcome: 'fail' });
  await harness.sandbox.pay(billId);
  await harness.settle();
};
const states = async () =>
  (await harness.host.ledger()).events.map(({ name, deliveries }) => [name, deliveries[0]!.state]).reverse();

describe('invariant 9: within a bill and consumer, deliveries go in settlement order', () => {
  afterEach(() => harness.close());

  test('a FAIL is delivered before a SUCCESS of the same answer', async () => {
    const { calls, Recorder } = recorder(0);
    harness = await startHarness({ providers: [Recorder] });
    await failThenPay();
    expect(calls).toEqual(['payment.failed', 'payment.succeeded']);
  });

  test('a delivery that is retried holds back the later ones of its bill', async () => {
    const { calls, Recorder } = recorder(1);
    harness = await startHarness({ providers: [Recorder] });
    await failThenPay();
    expect(calls).toEqual(['payment.failed']);
    harness.clock.advance(1_000);
    await harness.settle();
    expect(calls).toEqual(['payment.failed', 'payment.failed', 'payment.succeeded']);
  });

  test('a dead letter releases the later deliveries of its bill', async () => {
    const { calls, Recorder } = recorder(2);
    harness = await startHarness({ providers: [Recorder], options: { deliveries: { maxAttempts: 2 } } });
    await failThenPay();
    harness.clock.advance(1_000);
    await harness.settle();
    expect(calls).toEqual(['payment.failed', 'payment.failed', 'payment.succeeded']);
    expect(await states()).toEqual([
      ['payment.failed', 'DEAD'],
      ['payment.succeeded', 'DONE'],
    ]);
  });

  onPostgres(test)('of two deliveries of a bill claimed at the same moment, one gives way', async () => {
    const { calls, Recorder } = recorder(0);
    harness = await startHarness({ providers: [Recorder] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'rivals', amount: '10' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    await harness.host.confirmer.runOnce();
    const {
      items: [claimed],
    } = await harness.host.deliveries.claim(1);
    // As another instance does that has not seen this claim yet.
    await harness.host.dataSource.query(
      `UPDATE payment_acceptance.delivery d SET lease_token = gen_random_uuid(),
         lease_until = mine.lease_until - interval '1 millisecond'
       FROM payment_acceptance.delivery mine WHERE mine.id = $1 AND d.id <> mine.id`,
      [claimed!.id],
    );
    await harness.host.deliveries.process(claimed!, new AbortController().signal);
    expect(calls).toEqual([]);
    const { events } = await harness.host.ledger();
    const failed = events.find(({ name }) => name === 'payment.failed')!.deliveries[0];
    expect(failed).toMatchObject({ state: 'PENDING', lastError: expect.stringContaining('is under way') });
  });

  test('the event of a FAIL after a SUCCESS says that the order is paid', async () => {
    const seen: [string, boolean][] = [];
    @Injectable()
    class Reader {
      @OnPaymentFailed({ consumer: 'orders' })
      failed({ billState, orderPaid }: PaymentFailedEvent): Promise<void> {
        seen.push([billState, orderPaid]);
        return Promise.resolve();
      }
    }
    harness = await startHarness({ providers: [Reader] });
    const { billId } = await harness.host.payments.createBill({ orderId: 'fail-late', amount: '10' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    harness.clock.advance(2_000);
    await harness.settle();
    expect(seen).toEqual([['PAID', true]]);
    expect((await harness.host.ledger()).bills).toMatchObject([{ state: 'PAID' }]);
  });
});
