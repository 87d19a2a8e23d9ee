import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
} from 'nestjs-payment-acceptance';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { DeliveryStore } from '../../libs/payment-acceptance/src/events/storage/delivery.store.js';
import { onPostgres } from '../support/database.js';
import { startHarness, type Harness } from '../support/harness.js';
import { pay } from '../support/pay.js';

const MINUTE = 60_000;

/** What handlers were called for, as `order: event`, with `late` where it says so. */
const calls: string[] = [];
/** For which of these they fail. */
let fails: (call: string) => boolean;

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  take({ name, orderId, late }: PaymentSucceededEvent | PaymentFailedEvent): void {
    const call = `${orderId}: ${name.slice('payment.'.length)}${late ? ', late' : ''}`;
    calls.push(call);
    if (fails(call)) throw new Error('not now');
  }
}

describe('the deliveries of one bill to one consumer', () => {
  let harness: Harness;
  beforeEach(async () => {
    calls.length = 0;
    fails = () => false;
    harness = await startHarness({ providers: [Orders], options: { deliveries: { concurrency: 4 } } });
  });
  afterEach(() => harness.close());

  const query = <Row>(sql: string): Promise<Row[]> => harness.host.dataSource.query(sql);

  /** Those that a claim may meet, by their order. */
  async function eligible(): Promise<string[]> {
    const rows = await query<{ orderId: string }>(
      `SELECT b.order_id AS "orderId" FROM payment_acceptance.delivery d
       JOIN payment_acceptance.bill b ON b.intent_id = d.intent_id
       WHERE d.state = 'PENDING' AND NOT d.behind ORDER BY d.seq`,
    );
    return rows.map(({ orderId }) => orderId);
  }

  async function billOf(orderId: string): Promise<string> {
    return (await harness.host.payments.createBill({ orderId, amount: '10' })).billId;
  }

  /** A bill with failed payments, and then one that succeeds. */
  async function cardTested(orderId: string, failures: number): Promise<void> {
    const billId = await billOf(orderId);
    for (let index = 0; index < failures; index += 1) await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
    await check();
  }

  /** What was paid is settled, nothing handed over. */
  async function check(): Promise<void> {
    await harness.sandbox.settled();
    while ((await harness.host.confirmer.runOnce()) > 0);
  }

  const expected = (orderId: string, failures: number): string[] => [
    ...Array<string>(failures).fill(`${orderId}: failed`),
    `${orderId}: succeeded`,
  ];

  onPostgres(test)(
    "a delivery inserted between another's done-mark and its commit is released by the next sweep",
    async () => {
      const billId = await billOf('between');
      await harness.sandbox.pay(billId, { outcome: 'fail' });
      await check();
      const store = harness.host.app.get<DeliveryStore>(DeliveryStore, { strict: false });
      const complete = store.completeLocked.bind(store);
      jest.spyOn(store, 'completeLocked').mockImplementationOnce(async (...given) => {
        const completed = await complete(...given);
        harness.clock.advance(2_000);
        await harness.sandbox.pay(billId);
        await check();
        return completed;
      });
      expect(await harness.host.deliveries.runOnce()).toBe(1);
      expect(await harness.host.deliveries.runOnce()).toBe(0);
      harness.clock.advance(30_000);
      expect(await harness.host.deliveries.runOnce()).toBe(1);
      expect(calls).toEqual(expected('between', 1));
    },
  );

  test('deliveries of one bill to one consumer are claimed one after the other, however many wait', async () => {
    await cardTested('tested', 40);
    await pay(harness, 'healthy');
    await check();
    expect(await eligible()).toEqual(['tested', 'healthy']);
    await harness.host.deliveries.runOnce();
    expect(calls.sort()).toEqual(['healthy: succeeded', 'tested: failed']);
    calls.length = 0;
    await harness.settle();
    expect(calls).toEqual(expected('tested', 39));
    expect(await eligible()).toEqual([]);
  });

  test('a delivery waits for an earlier one of its bill that waits or is being handled', async () => {
    const billId = await billOf('one');
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await check();
    const { items } = await harness.host.deliveries.claim(1);
    harness.clock.advance(2_000);
    await harness.sandbox.pay(billId);
    await check();
    expect(await eligible()).toHaveLength(1);
    await harness.host.deliveries.process(items[0]!, new AbortController().signal);
    await harness.settle();
    expect(calls).toEqual(expected('one', 1));
  });

  test('deliveries go on where a previous release has inserted them, or has ended the first one', async () => {
    await cardTested('inserted', 5);
    await query('UPDATE payment_acceptance.delivery SET behind = FALSE');
    fails = () => calls.length === 1;
    await harness.settle();
    // The others wait until the first one is retried.
    expect(calls).toEqual(['inserted: failed']);
    harness.clock.advance(MINUTE);
    await harness.settle();
    expect(calls).toEqual(['inserted: failed', ...expected('inserted', 5)]);
    fails = () => false;

    await cardTested('ended', 3);
    await query(
      `UPDATE payment_acceptance.delivery SET state = 'DONE', ended_at = due_at WHERE state = 'PENDING' AND NOT behind`,
    );
    calls.length = 0;
    await harness.settle();
    expect(calls).toEqual([]);
    harness.clock.advance(30_000);
    await harness.settle();
    expect(calls).toEqual(expected('ended', 2));
  });

  test('deliveries are held back for 27 minutes by an earlier one whose handler fails, and no longer', async () => {
    fails = (call) => call.endsWith('failed') || call.endsWith('failed, late');
    const billId = await billOf('held');
    await harness.sandbox.pay(billId, { outcome: 'fail' });
    await harness.sandbox.pay(billId);
    await check();
    let minutes = 0;
    for (; minutes < 60 && !calls.includes('held: succeeded'); minutes += 1) {
      await harness.settle();
      harness.clock.advance(MINUTE);
    }
    // Eleven pauses from a second on, each half to all of twice the one before, and up to the next full minute.
    expect(minutes).toBeGreaterThan(25);
    expect(minutes).toBeLessThan(46);
    // What is settled later does not wait at all.
    await harness.sandbox.pay(billId);
    await check();
    await harness.settle();
    expect(calls.filter((call) => call === 'held: succeeded')).toHaveLength(2);
    fails = () => false;
    harness.clock.advance(60 * MINUTE);
    await harness.settle();
    expect(calls.at(-1)).toBe('held: failed, late');
    expect(
      (await harness.host.ledger()).events.flatMap(({ deliveries }) => deliveries.map(({ state }) => state)),
    ).toEqual(['DONE', 'DONE', 'DONE']);
  });

  test('replayed dead letters of a bill go out in order, beside deliveries of other bills', async () => {
    await harness.close();
    harness = await startHarness({ providers: [Orders], options: { deliveries: { maxAttempts: 1, concurrency: 4 } } });
    fails = () => true;
    await cardTested('again', 6);
    await harness.settle();
    expect(calls).toEqual(expected('again', 6));
    calls.length = 0;
    fails = () => false;
    expect(await harness.host.app.get(PaymentOperations).replay({}, { operator: 'somebody' })).toBe(7);
    await pay(harness, 'healthy');
    await check();
    expect(await eligible()).toEqual(['again', 'healthy']);
    await harness.settle();
    expect(calls.filter((call) => call.startsWith('again'))).toEqual(expected('again', 6));
  });

  test('deliveries no longer held back by an earlier one are claimed one after the other all the same', async () => {
    await cardTested('both', 1);
    await query(`UPDATE payment_acceptance.delivery SET attempts = 12, behind = FALSE`);
    const { items } = await harness.host.deliveries.claim(4);
    expect(items).toMatchObject([{ eventName: 'payment.failed' }]);
  });
});

@Injectable()
class Mail {
  @OnPaymentSucceeded({ consumer: 'mail' })
  send(): void {
    calls.push('mail');
  }
}

describe('consumers with backlogs', () => {
  let harness: Harness;
  beforeEach(async () => {
    fails = () => false;
    harness = await startHarness({ providers: [Orders, Mail], options: { deliveries: { concurrency: 4 } } });
  });
  afterEach(() => harness.close());

  test("consumers take turns: a new delivery does not wait for another consumer's backlog", async () => {
    for (let index = 0; index < 6; index += 1) await pay(harness, `order-${index}`);
    await harness.sandbox.settled();
    while ((await harness.host.confirmer.runOnce()) > 0);
    await harness.host.dataSource.query(
      `UPDATE payment_acceptance.delivery SET due_at = '2026-01-01' WHERE consumer = 'mail'`,
    );
    const { items } = await harness.host.deliveries.claim(2);
    expect(items.map(({ consumer }) => consumer).sort()).toEqual(['mail', 'orders']);
  });
});
