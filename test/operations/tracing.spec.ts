import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { trace } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { OnPaymentSucceeded, PaymentUnknownOutcomeError } from 'nestjs-payment-acceptance';
import { PaymentReviews } from 'nestjs-payment-acceptance/operations';
import { CallbackStore } from '../../libs/payment-acceptance/src/callbacks/storage/callback.store.js';
import { MAIN_TOKEN, startHarness, type Harness } from '../support/harness.js';
import { postbackFields, postForm, redirectFields } from '../support/http.js';
import { until } from '../support/until.js';
import { registerSdk, type Sdk } from './sdk.js';

/** Gets a new tracer each time, because a tracer keeps the SDK that it was first used with. */
const host = () => trace.getTracer('the host');

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take({ orderId }: { orderId: string }): Promise<void> {
    return host().startActiveSpan('mark paid', (span) => {
      span.end();
      return orderId === 'failing' ? Promise.reject(new RangeError('4111 1111 1111 1111')) : Promise.resolve();
    });
  }
}

let sdk: Sdk;
let harness: Harness;

describe('tracing', () => {
  beforeAll(async () => {
    sdk = registerSdk();
    harness = await startHarness({ instances: 2, providers: [Orders], options: { http: { attempts: 1 } } });
  });
  afterEach(() => sdk.reset());
  afterAll(async () => {
    await harness.close();
    sdk.end();
  });

  const traceOf = (span: ReadableSpan) => span.spanContext().traceId;
  const one = (name: string): ReadableSpan => {
    const [span, ...more] = sdk.spans(name);
    expect([name, more.length]).toEqual([name, 0]);
    return span!;
  };
  const expectChild = (child: ReadableSpan, parent: ReadableSpan) => {
    expect(traceOf(child)).toBe(traceOf(parent));
    expect(child.parentSpanContext?.spanId).toBe(parent.spanContext().spanId);
  };

  /** Buys inside a span of the host, as an HTTP request would be. */
  const buy = (orderId: string) =>
    host().startActiveSpan('POST /orders', (span) =>
      harness.host.payments.createBill({ orderId, amount: '10' }).finally(() => span.end()),
    );

  describe('one trace', () => {
    test("a trace leads from the host's request over createBill, check, settlement and delivery to the handler", async () => {
      const { billId } = await buy('traced');
      await harness.sandbox.pay(billId);
      await harness.settle();
      const [created, check, settled, delivered] = [
        one('payment.create_bill'),
        one('payment.check'),
        one('payment.settle'),
        one('payment.deliver'),
      ];
      expectChild(created, one('POST /orders'));
      expectChild(check, created);
      expectChild(settled, check);
      expectChild(delivered, settled);
      expectChild(one('mark paid'), delivered);
      // Read from the tables, as another process would.
      expect([check, delivered].map((span) => span.parentSpanContext?.isRemote)).toEqual([true, true]);
      expect(created.attributes).toEqual({
        'payment.shop': 'main',
        'payment.order_id': 'traced',
        'payment.bill_id': billId,
      });
      expect(check.attributes).toMatchObject({ 'payment.check.hints': 1, 'payment.outcome': 'settled' });
      expect(delivered.attributes).toMatchObject({ 'payment.consumer': 'orders', 'payment.outcome': 'done' });
    });

    test('a later check continues the trace of its bill, and that of an untraced bill starts a new one', async () => {
      const { billId } = await buy('later');
      await harness.host.dataSource.query(
        `UPDATE payment_acceptance.bill SET traceparent = NULL WHERE order_id <> 'later'`,
      );
      harness.clock.advance(61_000);
      await harness.settle();
      const created = one('payment.create_bill');
      const ours = sdk.spans('payment.check').filter((span) => span.attributes['payment.bill_id'] === billId);
      expect(ours.length).toBe(1);
      expectChild(ours[0]!, created);
      expect(ours[0]!.attributes['payment.outcome']).toBe('unchanged');
      await harness.host.dataSource.query(`UPDATE payment_acceptance.bill SET traceparent = NULL`);
      sdk.reset();
      harness.clock.advance(121_000);
      await harness.settle();
      const own = one('payment.check');
      expect(own.parentSpanContext).toBeUndefined();
      expect(traceOf(own)).not.toBe(traceOf(created));
    });

    test('an unsampled trace stays unsampled', async () => {
      const { billId } = await buy('unsampled');
      await harness.host.dataSource.query(
        `UPDATE payment_acceptance.bill SET traceparent = regexp_replace(traceparent, '01$', '00') WHERE order_id = 'unsampled'`,
      );
      sdk.reset();
      await harness.sandbox.pay(billId);
      await harness.settle();
      expect(sdk.spans().map(({ name }) => name)).toEqual(['payment.callback']);
    });
  });

  describe('callbacks', () => {
    test("callbacks have spans of their own with links to the bill's trace", async () => {
      const { billId } = await buy('linked');
      const created = one('payment.create_bill');
      const fields = { InvId: 'linked', OutSum: '10.00' };
      await postForm(`${harness.host.url}/postback/payment`, postbackFields({ ...fields, TrsId: billId }));
      await postForm(`${harness.host.url}/redirect/payment/success`, redirectFields(fields));
      await postForm(`${harness.host.url}/postback/payment`, postbackFields({ ...fields, TrsId: 'nobody-s' }));
      const [postback, redirect, unmatched] = sdk.spans('payment.callback');
      for (const span of [postback!, redirect!]) {
        expect(span.links.map(({ context }) => context.spanId)).toEqual([created.spanContext().spanId]);
        expect(traceOf(span)).not.toBe(traceOf(created));
      }
      expect(postback!.attributes).toEqual({
        'payment.shop': 'main',
        'payment.callback.kind': 'postback',
        'payment.callback.digest': 'match',
        'payment.outcome': 'matched',
      });
      expect(redirect!.attributes['payment.callback.kind']).toBe('redirect-success');
      expect([unmatched!.links, unmatched!.attributes['payment.outcome']]).toEqual([[], 'unmatched']);
      await harness.settle();
    });
  });

  test('callbacks that come together share the look-ups of the traces that they link', async () => {
    const { billId } = await buy('crowd');
    const body = postbackFields({ InvId: 'crowd', OutSum: '10.00', TrsId: billId });
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const { tracesOf } = CallbackStore.prototype;
    const lookUps = jest.spyOn(CallbackStore.prototype, 'tracesOf').mockImplementation(async function (
      this: CallbackStore,
      ids,
    ) {
      await held;
      return tracesOf.call(this, ids);
    });
    const posts = Array.from({ length: 20 }, () => postForm(`${harness.host.url}/postback/payment`, body));
    const stored = async (): Promise<number> =>
      (await harness.host.ledger()).callbacks.filter(({ billId: named }) => named === billId).length;
    await until(stored, (count) => count === 20);
    expect(lookUps).toHaveBeenCalledTimes(1);
    letGo();
    await Promise.all(posts);
    lookUps.mockRestore();
    expect(sdk.spans('payment.callback').map(({ links }) => links.length)).toEqual(Array(20).fill(1));
    await harness.settle();
  });

  describe('failures', () => {
    test("a failed span has the error's type, but not its message", async () => {
      const { billId } = await buy('failing');
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
      await harness.host.confirmer.runOnce();
      await harness.host.deliveries.runOnce();
      const delivered = one('payment.deliver');
      expect(delivered.attributes).toMatchObject({ 'error.type': 'RangeError', 'payment.outcome': 'retried' });
      expect(delivered.status.code).toBe(2);
      await harness.sandbox.setFaults({ requests: { status500: 1 } });
      await expect(buy('unknown')).rejects.toBeInstanceOf(PaymentUnknownOutcomeError);
      harness.clock.advance(7 * 3_600_000);
      await harness.host.confirmer.runOnce();
      await harness.sandbox.clearFaults();
      expect(sdk.spans('payment.create_bill').at(-1)!.attributes['error.type']).toBe('unknown-outcome');
      const check = sdk.spans('payment.check').at(-1)!;
      expect(check.attributes).toMatchObject({
        'error.type': 'service-unavailable',
        'payment.outcome': 'service-unavailable',
      });
      const everything = JSON.stringify(
        sdk.spans().map(({ name, attributes, events, status, links }) => [name, attributes, events, status, links]),
      );
      expect(everything).not.toContain('4111');
      expect(everything).not.toContain(MAIN_TOKEN);
    });

    test("an operator's settlement is part of the trace of the operator's request", async () => {
      const { billId } = await buy('reviewed');
      await harness.sandbox.pay(billId, { amount: '9.00' });
      harness.clock.advance(60_000);
      await harness.settle();
      const review = (await harness.host.ledger()).reviews.find(({ orderId }) => orderId === 'reviewed')!;
      sdk.reset();
      await host().startActiveSpan('PUT /reviews', (span) =>
        harness.host.app
          .get(PaymentReviews)
          .accept(review.id, { operator: 'ann' })
          .finally(() => span.end()),
      );
      await harness.settle();
      expectChild(one('payment.settle'), one('PUT /reviews'));
      const delivered = sdk.spans('payment.deliver').find((span) => traceOf(span) === traceOf(one('PUT /reviews')))!;
      expectChild(delivered, one('payment.settle'));
    });
  });
});
