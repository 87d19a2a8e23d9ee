import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentOperatorActionError, PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { RetentionWorker } from '../../libs/payment-acceptance/src/retention/retention.worker.js';
import { startHarness, type Harness, type Instance } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import { pay } from '../support/pay.js';

const HOUR = 3_600_000;

/** The events that the handler added later received. */
const taken: string[] = [];

@Injectable()
class Mails {
  @OnPaymentSucceeded({ consumer: 'mails' })
  @OnPaymentFailed({ consumer: 'mails' })
  take({ name, orderId, late }: PaymentSucceededEvent | PaymentFailedEvent): void {
    taken.push(`${orderId}: ${name.slice('payment.'.length)}${late ? ', late' : ''}`);
  }
}

describe('events settled before a consumer was registered', () => {
  let harness: Harness;
  beforeEach(async () => {
    taken.length = 0;
    harness = await startHarness({
      providers: [EffectWriter],
      options: { retention: { redactBillsAfterMs: 24 * HOUR } },
    });
  });
  afterEach(() => harness.close());

  async function paid(orderId: string): Promise<void> {
    await pay(harness, orderId);
    await harness.settle();
    harness.clock.advance(HOUR);
  }

  const withMails = (): Promise<Instance> => harness.start({ providers: [EffectWriter, Mails] });
  const operations = (): PaymentOperations => harness.host.app.get(PaymentOperations);
  const deliver = (more: object = {}) =>
    operations().deliverPastEvents({ consumer: 'mails', ...more }, { operator: 'ann' });

  test("past events are delivered on an operator's call, once, in the order of each bill", async () => {
    const { billId } = await harness.host.payments.createBill({ orderId: 'order-1', amount: '10' });
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
    await harness.settle();
    await paid('order-2');
    await expect(deliver()).rejects.toThrow(PaymentOperatorActionError);
    await expect(deliver()).rejects.toThrow(/"mails".*start an instance with its handler/);

    await withMails();
    await harness.settle();
    expect(taken).toEqual([]);
    expect(await operations().countPastEvents({ consumer: 'mails' })).toEqual(3);
    expect(await deliver({ event: 'payment.refunded' })).toEqual(0);
    expect(await deliver({ orderId: 'order-1' })).toEqual(2);
    await harness.settle();
    expect(taken).toEqual(['order-1: failed', 'order-1: succeeded']);
    expect(await deliver()).toEqual(1);
    expect(await deliver()).toEqual(0);
    await harness.settle();
    expect(taken).toEqual(['order-1: failed', 'order-1: succeeded', 'order-2: succeeded']);
    const rows: { target: string }[] = await harness.host.dataSource.query(
      `SELECT target FROM payment_acceptance.operator_action WHERE action = 'deliver-past-events'`,
    );
    expect(rows.map(({ target }) => target)).toEqual(Array(4).fill('mails'));
  });

  test('past events can be chosen by time and shop', async () => {
    for (const orderId of ['first', 'second', 'third']) await paid(orderId);
    await withMails();
    const [first, second] = (await harness.host.ledger()).events
      .map(({ occurredAt }) => new Date(occurredAt))
      .sort((a, b) => a.getTime() - b.getTime());
    expect(await operations().countPastEvents({ consumer: 'mails', to: second! })).toEqual(1);
    expect(await operations().countPastEvents({ consumer: 'mails', from: second! })).toEqual(2);
    expect(await operations().forShop('eu').countPastEvents({ consumer: 'mails' })).toEqual(0);
    expect(await deliver({ shop: 'main', from: first!, to: second! })).toEqual(1);
    await harness.settle();
    expect(taken).toEqual(['first: succeeded']);
  });

  test('past events that a consumer has had are not delivered again, even after retention and registration anew', async () => {
    await paid('before');
    const host = await withMails();
    await paid('had');
    expect(taken).toEqual(['had: succeeded']);
    expect(await deliver()).toBe(1);
    await harness.settle();
    harness.clock.advance(3 * 365 * 24 * HOUR);
    while ((await host.app.get(RetentionWorker).runOnce()) > 0);
    expect(await deliver()).toBe(0);
    await harness.host.dataSource.query(`DELETE FROM payment_acceptance.consumer WHERE name = 'mails'`);
    await withMails();
    expect(await deliver()).toBe(0);
    await harness.settle();
    expect(taken).toEqual(['had: succeeded', 'before: succeeded']);
  });

  test('past events are all delivered to a consumer registered under another name', async () => {
    await withMails();
    await paid('had');
    @Injectable()
    class Letters {
      @OnPaymentSucceeded({ consumer: 'letters' })
      take({ orderId }: PaymentSucceededEvent): void {
        taken.push(`letter about ${orderId}`);
      }
    }
    await harness.start({ providers: [EffectWriter, Letters] });
    expect(await operations().deliverPastEvents({ consumer: 'letters' }, { operator: 'ann' })).toBe(1);
    await harness.settle();
    expect(taken).toEqual(['had: succeeded', 'letter about had']);
  });

  test('past events of a shop that a consumer has just begun to take can be delivered', async () => {
    @Injectable()
    class OfEu {
      @OnPaymentSucceeded({ consumer: 'counts', shops: ['eu'] })
      take({ orderId }: PaymentSucceededEvent): void {
        taken.push(orderId);
      }
    }
    @Injectable()
    class OfAll {
      @OnPaymentSucceeded({ consumer: 'counts' })
      take({ orderId }: PaymentSucceededEvent): void {
        taken.push(orderId);
      }
    }
    await harness.start({ providers: [OfEu] });
    await paid('of-main');
    await harness.start({ providers: [OfAll] });
    expect(await operations().deliverPastEvents({ consumer: 'counts' }, { operator: 'ann' })).toEqual(1);
    await harness.settle();
    expect(taken).toEqual(['of-main']);
  });
});
