import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { PaymentNonRetryableError, OnPaymentFailed, OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import type { DataPoint, Histogram } from '@opentelemetry/sdk-metrics';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postForm, redirectFields } from '../support/http.js';
import { until } from '../support/until.js';
import { registerSdk, type Sdk } from './sdk.js';

let isMended = false;

@Injectable()
class Orders {
  private failed = false;

  @OnPaymentSucceeded({ consumer: 'orders' })
  take(): Promise<void> {
    if (this.failed) return Promise.resolve();
    this.failed = true;
    return Promise.reject(new Error('once'));
  }

  @OnPaymentFailed({ consumer: 'orders' })
  refuse(): Promise<void> {
    return isMended ? Promise.resolve() : Promise.reject(new PaymentNonRetryableError('not yet'));
  }
}

let sdk: Sdk;
let harness: Harness;

describe('metrics', () => {
  beforeAll(async () => {
    sdk = registerSdk();
    harness = await startHarness({
      providers: [Orders],
      options: { http: { attempts: 1 }, callbacks: { maxUnmatched: 1 } },
    });
    await journey();
  });
  afterAll(async () => {
    await harness.close();
    sdk.end();
  });

  /** A failed and a successful payment of one bill, callbacks of every kind, and some failures. */
  async function journey(): Promise<void> {
    const { billId } = await harness.host.payments.createBill({ orderId: 'a', amount: '10' });
    await harness.host.payments.createBill({ orderId: 'a', amount: '11' }).catch(() => undefined);
    harness.clock.advance(60_000);
    await harness.settle();
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
    await harness.sandbox.settled();
    harness.clock.advance(20_000);
    await harness.settle();
    harness.clock.advance(10_000);
    await harness.settle();
    const { url } = harness.host;
    const fields = { InvId: 'a', OutSum: '10.00' };
    await postForm(`${url}/redirect/payment/fail`, redirectFields(fields));
    await postForm(`${url}/redirect/payment/success`, { ...redirectFields(fields), SignatureValue: 'X' });
    await postForm(`${url}/postback/payment`, postbackFields({ ...fields, TrsId: 'unknown' }));
    await postForm(`${url}/postback/payment`, postbackFields({ ...fields, TrsId: 'unknown, too' }));
    await postForm(`${url}/postback/payment`, { InvId: 'a' });
    await harness.sandbox.setFaults({ requests: { status500: 1 } });
    harness.clock.advance(60_000);
    await harness.settle();
    await harness.sandbox.clearFaults();
  }

  describe('counters', () => {
    test('the counter of creations has their outcomes', async () => {
      expect(await sdk.values('payment_acceptance.creations')).toEqual({
        'outcome=ok shop=main': 1,
        'outcome=bill-mismatch shop=main': 1,
      });
    });

    test('the counter of callbacks has their kinds, digests and outcomes', async () => {
      expect(await sdk.values('payment_acceptance.callbacks')).toEqual({
        'callback.digest=match callback.kind=postback outcome=matched shop=main': 2,
        'callback.digest=match callback.kind=postback outcome=unmatched shop=main': 1,
        'callback.digest=match callback.kind=postback outcome=turned-away shop=main': 1,
        'callback.digest=absent callback.kind=postback outcome=malformed shop=main': 1,
        'callback.digest=match callback.kind=redirect-fail outcome=matched shop=main': 1,
        'callback.digest=mismatch callback.kind=redirect-success outcome=refused shop=main': 1,
      });
    });

    test('the counter of checks has their outcomes', async () => {
      expect(await sdk.values('payment_acceptance.checks')).toEqual({
        'outcome=unchanged shop=main': 1,
        'outcome=settled shop=main': 1,
        'outcome=service-unavailable shop=main': 1,
      });
    });

    test('the counters of settlements and deliveries have their events and outcomes', async () => {
      expect(await sdk.values('payment_acceptance.settlements')).toEqual({
        'event=payment.failed shop=main': 1,
        'event=payment.succeeded shop=main': 1,
      });
      expect(await sdk.values('payment_acceptance.deliveries')).toEqual({
        'consumer=orders event=payment.failed outcome=dead': 1,
        'consumer=orders event=payment.succeeded outcome=retried': 1,
        'consumer=orders event=payment.succeeded outcome=done': 1,
      });
    });
  });

  test('the lags of callbacks, deliveries and settlements are histograms in seconds', async () => {
    const lag = async (name: string) => {
      const metric = (await sdk.metrics()).find(({ descriptor }) => descriptor.name === name)!;
      expect(metric.descriptor.unit).toBe('s');
      return (metric.dataPoints as DataPoint<Histogram>[]).map(({ value }) => value);
    };
    const [callback] = await lag('payment_acceptance.callback.lag');
    expect(callback).toMatchObject({ count: 1 });
    expect(callback!.min).toBeGreaterThanOrEqual(20);
    expect(callback!.max).toBeLessThan(60);
    expect((await lag('payment_acceptance.payment.lag'))[0]).toMatchObject({ count: 2 });
    const [delivery] = await lag('payment_acceptance.delivery.lag');
    expect(delivery).toMatchObject({ count: 1 });
    expect(delivery!.min).toBeGreaterThanOrEqual(10);
    const [settlement] = await lag('payment_acceptance.settlement.lag');
    expect(settlement).toMatchObject({ count: 1 });
    expect(settlement!.min).toBeGreaterThanOrEqual(callback!.min! + delivery!.min! - 1);
  });

  test('the duration of requests to the service is measured by operation and outcome', async () => {
    const metric = (await sdk.metrics()).find(({ descriptor }) => descriptor.name.endsWith('requests.duration'))!;
    const points = metric.dataPoints as DataPoint<Histogram>[];
    expect(points.map(({ attributes, value }) => [...Object.values(attributes), value.count])).toEqual([
      ['main', 'createBill', 'ok', 1],
      ['main', 'listPayments', 'ok', 2],
      ['main', 'listPayments', 'service-unavailable', 1],
    ]);
  });

  test('the gauges show the state of the tables', async () => {
    const read = async () => ({
      ...(await sdk.values('payment_acceptance.dead_letters')),
      waiting: (await sdk.values('payment_acceptance.callbacks.waiting'))[''],
      reviews: (await sdk.values('payment_acceptance.reviews.open'))[''],
      unknown: (await sdk.values('payment_acceptance.bills.unknown'))[''],
      pending: (await sdk.values('payment_acceptance.deliveries.pending'))[''],
      refused: (await sdk.values('payment_acceptance.shops.refused'))[''],
      oldest: (await sdk.values('payment_acceptance.deliveries.oldest.age'))[''],
    });
    const now = await until(read, (values) => values.waiting === 1);
    expect(now).toEqual({ '': 1, waiting: 1, reviews: 0, unknown: 0, pending: 0, refused: 0, oldest: 0 });
    harness.clock.advance(7 * 3_600_000);
    const age = async () => (await sdk.values('payment_acceptance.checks.overdue.age'))[''] ?? 0;
    expect(await until(age, (seconds) => seconds > 0)).toBeGreaterThan(600);
  });

  test('each reason of health is a gauge of 1 or 0, also while the database cannot be reached', async () => {
    const reasons = () => sdk.values('payment_acceptance.degraded');
    const all = await until(reasons, (values) => values['reason=dead-letters'] === 1);
    expect(Object.keys(all).length).toBe(16);
    expect(all).toMatchObject({ 'reason=database': 0, 'reason=lost-bills': 0, 'reason=service-not-answering': 0 });
    await harness.host.dataSource.query('ALTER TABLE payment_acceptance.review RENAME TO review_away');
    try {
      expect(await until(reasons, (values) => values['reason=backlog-unknown'] === 1)).toMatchObject({
        'reason=database': 0,
        'reason=worker-stalled': 0,
      });
    } finally {
      await harness.host.dataSource.query('ALTER TABLE payment_acceptance.review_away RENAME TO review');
    }
    await until(reasons, (values) => values['reason=backlog-unknown'] === 0);
    const { source } = harness.host.app.get(Database);
    const gone = jest.spyOn(source, 'connect').mockRejectedValue(new Error('The server is gone.'));
    expect(await until(reasons, (values) => values['reason=database'] === 1)).toMatchObject({
      'reason=backlog-unknown': 0,
      'reason=worker-stalled': 0,
    });
    gone.mockRestore();
    await until(reasons, (values) => values['reason=database'] === 0);
  });

  test('a later delivery by an operator counts as a delivery, not as a late settlement', async () => {
    const countOf = async (name: string) =>
      ((await sdk.metrics()).find(({ descriptor }) => descriptor.name === name)!.dataPoints as DataPoint<Histogram>[])
        .map(({ value }) => value.count)
        .reduce((sum, count) => sum + count, 0);
    isMended = true;
    expect(await harness.host.app.get(PaymentOperations).replay({}, { operator: 'ann' })).toBe(1);
    await harness.settle();
    expect(await countOf('payment_acceptance.delivery.lag')).toBe(2);
    expect(await countOf('payment_acceptance.settlement.lag')).toBe(1);
  });

  test('every metric has a unit and a description; no attribute contains an id, an amount or a secret', async () => {
    const metrics = (await sdk.metrics()).filter(({ descriptor }) => /^payment[._]/.test(descriptor.name));
    expect(metrics.length).toBe(26);
    for (const { descriptor } of metrics) {
      expect(descriptor.unit).not.toBe('');
      expect(descriptor.description).not.toBe('');
    }
    const attributes = metrics.flatMap(({ dataPoints }) => dataPoints.map((point) => point.attributes));
    expect([...new Set(attributes.flatMap((each) => Object.keys(each)))].sort()).toEqual([
      'payment.callback.digest',
      'payment.callback.kind',
      'payment.consumer',
      'payment.event',
      'payment.operation',
      'payment.outcome',
      'payment.reason',
      'payment.shop',
    ]);
    expect(JSON.stringify(metrics)).not.toContain(MAIN_TOKEN);
  });
});
