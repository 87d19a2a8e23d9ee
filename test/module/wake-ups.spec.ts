import { afterEach, describe, expect, test } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import {
  OnPaymentFailed,
  OnPaymentSucceeded,
  type PaymentFailedEvent,
  type PaymentSucceededEvent,
  PaymentWorkers,
} from 'nestjs-payment-acceptance';
import { setCallbacks, startHarness, type Harness } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { EffectWriter } from '../support/orders.js';
import { pay } from '../support/pay.js';
import { onStatement, Statements } from '../support/statements.js';
import { until } from '../support/until.js';

/** Too long for any test, so whatever happens earlier was caused by a signal. */
const NEVER_MS = 3_600_000;
const running = (pollMs: number) => ({ autoStart: true, pollMs });

const handler: { calls: string[]; fails: number; reached?: () => void; released?: Promise<void> } = {
  calls: [],
  fails: 0,
};

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  @OnPaymentFailed({ consumer: 'orders' })
  async take({ name, orderId }: PaymentSucceededEvent | PaymentFailedEvent): Promise<void> {
    handler.reached?.();
    await handler.released;
    if (handler.fails > 0) throw new Error(`not now, and ${(handler.fails -= 1)} times more`);
    handler.calls.push(`${orderId}: ${name.slice('payment.'.length)}`);
  }
}

let harness: Harness;

describe('wake ups', () => {
  const closeLater = closing();
  afterEach(() => harness.close());

  const listeners = () =>
    harness.host.dataSource.query<{ pid: number }[]>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_notify%' AND pid <> pg_backend_pid()`,
    );
  const paid = (orderId: string) =>
    until(
      () => harness.effects(),
      (effects) => effects.some((effect) => effect.orderId === orderId),
    );

  describe('an instance that only receives callbacks', () => {
    test('a callbacks-only instance wakes the workers at once, even after its connection was lost', async () => {
      harness = await startHarness({ extras: { role: 'callbacks' }, options: running(NEVER_MS) });
      await harness.start({ providers: [EffectWriter], extras: { role: 'workers' }, options: running(NEVER_MS) });
      await setCallbacks(harness.sandbox, harness.host.url);
      await until(listeners, (all) => all.length === 2);
      await pay(harness, 'told');
      await paid('told');

      const lost = await listeners();
      for (const { pid } of lost) await harness.host.dataSource.query('SELECT pg_terminate_backend($1)', [pid]);
      await pay(harness, 'told-again');
      await until(listeners, (all) => all.length === 2 && all.every(({ pid }) => lost.every((old) => old.pid !== pid)));
      await paid('told-again');
    });

    test('a callbacks-only instance leaves work to the next poll with wakeUps: "poll"', async () => {
      const options = { ...running(NEVER_MS), wakeUps: 'poll' as const };
      harness = await startHarness({ extras: { role: 'callbacks' }, options });
      const works = await harness.start({ providers: [EffectWriter], extras: { role: 'workers' }, options });
      expect(await listeners()).toEqual([]);
      await pay(harness, 'found');
      works.confirmer.wake();
      await paid('found');
    });
  });

  describe('a working instance that polls rarely', () => {
    const start = async ({ deliveries = {}, checks = {}, autoStart = true } = {}): Promise<void> => {
      Object.assign(handler, { calls: [], fails: 0, reached: undefined, released: undefined });
      const options = {
        ...running(NEVER_MS),
        autoStart,
        checks,
        deliveries: { retryBaseMs: 20, ...deliveries },
        schedule: { minGapMs: 1 },
      };
      harness = await startHarness({ providers: [Orders], options });
    };
    /** The handler says that it was called, and waits until it is released. */
    const hold = (): [reached: Promise<void>, release: () => void] => {
      let release = (): void => undefined;
      handler.released = new Promise((resolve) => (release = resolve));
      return [new Promise((resolve) => (handler.reached = resolve)), () => release()];
    };
    const taken = (call: string) =>
      until(
        () => setImmediate(handler.calls),
        (calls) => calls.includes(call),
      );
    const rows = (sql: string) =>
      until(
        () => harness.host.dataSource.query<unknown[]>(sql),
        (found) => found.length > 0,
      );
    const bill = async (orderId: string): Promise<string> =>
      (await harness.host.payments.createBill({ orderId, amount: '10' })).billId;

    test('a failed handler is retried after its pause, without a poll', async () => {
      await start();
      handler.fails = 2;
      await pay(harness, 'retried');
      await taken('retried: succeeded');
      expect(handler.fails).toBe(0);
    });

    test('an event settled during the handler of an earlier one is delivered as soon as that ends', async () => {
      await start();
      const [reached, release] = hold();
      const billId = await bill('behind');
      await harness.sandbox.pay(billId, { outcome: 'fail' });
      await reached;
      await harness.sandbox.pay(billId);
      await rows('SELECT 1 FROM payment_acceptance.delivery WHERE behind');
      release();
      await taken('behind: succeeded');
      expect(handler.calls).toEqual(['behind: failed', 'behind: succeeded']);
    });

    test('a bill whose callback comes during its check is checked again as soon as that ends', async () => {
      await start();
      const billId = await bill('hinted');
      const runner = harness.host.dataSource.createQueryRunner();
      closeLater(() => runner.release());
      await runner.startTransaction();
      await runner.query(`SELECT 1 FROM payment_acceptance.shop_order FOR UPDATE`);
      await harness.sandbox.pay(billId, { outcome: 'fail' });
      await rows('SELECT 1 FROM pg_locks WHERE NOT granted');
      await harness.sandbox.pay(billId);
      await harness.sandbox.settled();
      await runner.commitTransaction();
      await taken('hinted: succeeded');
    });

    test('a delivery without a free place is left to a claim, which comes as soon as there is one', async () => {
      await start({ deliveries: { concurrency: 1 } });
      const [reached, release] = hold();
      await pay(harness, 'first');
      await reached;
      await pay(harness, 'second');
      await rows(`SELECT 1 FROM payment_acceptance.delivery WHERE attempts = 0 AND NOT behind`);
      release();
      await taken('second: succeeded');
      expect(handler.calls).toEqual(['first: succeeded', 'second: succeeded']);
    });

    test('a handler begins right after the settlement where only the deliveries were started', async () => {
      await start({ autoStart: false });
      const { app, confirmer, deliveries } = harness.host;
      app.get(PaymentWorkers).deliveries.start();
      await until(
        () => setImmediate(deliveries.state(NEVER_MS)),
        (state) => state === 'running',
      );
      await pay(harness, 'first');
      await harness.sandbox.settled();
      await confirmer.runOnce();
      await taken('first: succeeded');
    });

    test('a handler begins right after the settlement: one claim for each payment, and no search for queues', async () => {
      await start();
      await pay(harness, 'first');
      await taken('first: succeeded');
      const sent: string[] = [];
      closeLater(onStatement(({ sql }) => sent.push(sql)));
      await pay(harness, 'second');
      await taken('second: succeeded');
      // Whatever is asked after the second payment comes before the end of the third.
      await pay(harness, 'third');
      await taken('third: succeeded');
      expect(sent.filter((sql) => sql.includes('SET behind = false'))).toEqual([]);
      expect(sent.filter((sql) => sql.includes('SET attempts = '))).toHaveLength(2);
    });
  });

  describe('an idle instance', () => {
    test('an idle instance with two shops sends less than one statement a second', async () => {
      harness = await startHarness({ providers: [EffectWriter] });
      await harness.settle();
      const count = new Statements();
      closeLater(count.stop);
      // The cost of a minute with the default interval of five seconds.
      for (let second = 0; second < 60; second += 5) {
        harness.clock.advance(5_000);
        expect(await harness.host.confirmer.runOnce()).toBe(0);
        expect(await harness.host.deliveries.runOnce()).toBe(0);
      }
      const { statements } = count.take();
      expect(statements).toBeLessThan(60);
      // Two for each poll; five for expired leases, twice; three once to register shops and consumers.
      expect(statements).toBe(12 * 2 + 2 * 5 + 3);
    });
  });
});
