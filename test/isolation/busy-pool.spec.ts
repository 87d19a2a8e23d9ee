import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { PaymentProbe } from 'nestjs-payment-acceptance/testing';
import type { QueryRunner } from 'typeorm';
import { startHarness, type Harness } from '../support/harness.js';
import { pay } from '../support/pay.js';

/** Connections of the pool, which is as large as it comes. */
const POOL = 10;
const CLAIM = 'after UPDATE payment_acceptance.delivery';
const NEXT_CHANGE = 'before UPDATE payment_acceptance.delivery';

describe('a pool that the host keeps busy', () => {
  let harness: Harness;
  let busy: QueryRunner[] = [];
  afterEach(async () => {
    jest.useRealTimers();
    await giveBack();
    await harness.close();
  });

  /** The host requests all connections, or this many, and gets them before later callers do. */
  function takeAll(count = POOL): Promise<unknown> {
    busy = Array.from({ length: count }, () => harness.host.dataSource.createQueryRunner());
    return Promise.all(busy.map((runner) => runner.connect()));
  }

  /** Each once it has its connection: TypeORM's pool never closes with one that was released while it was still waiting. */
  async function giveBack(): Promise<void> {
    await Promise.all(busy.splice(0).map((runner) => runner.connect().then(() => runner.release())));
  }

  /** Calls these, one after the other, when the probe passes their points. */
  function at(...steps: [point: string, step: () => void][]): void {
    harness.host.app.get(PaymentProbe).reached = (point) => {
      if (point === steps[0]?.[0]) steps.shift()![1]();
    };
  }

  /** A delivery is due, and the worker has done its periodic work. */
  async function due(): Promise<void> {
    expect(await harness.host.deliveries.runOnce()).toBe(0);
    await pay(harness, 'busy');
    await harness.host.confirmer.runOnce();
  }

  async function deliveries() {
    return (await harness.host.ledger()).events.flatMap((event) => event.deliveries);
  }

  test('a delivery without a free connection loses no attempt, and is taken once there is one', async () => {
    const attempts: number[] = [];
    @Injectable()
    class Orders {
      @OnPaymentSucceeded({ consumer: 'orders' })
      take(_event: unknown, { attempt }: { attempt: number }): void {
        attempts.push(attempt);
      }
    }
    harness = await startHarness({
      providers: [Orders],
      options: { deliveries: { maxAttempts: 2, timeoutMs: 100 } },
    });
    await due();
    for (let round = 1; round <= 3; round += 1) {
      at([CLAIM, () => void takeAll()], [NEXT_CHANGE, () => void giveBack()]);
      await harness.host.deliveries.runOnce();
      expect(await deliveries()).toMatchObject([
        {
          state: 'PENDING',
          attempts: 0,
          lastError: expect.stringMatching(/^NoConnectionError: .* within 100 ms.*pool/),
        },
      ]);
      expect(await harness.host.deliveries.runOnce()).toBe(0);
      harness.clock.advance(5_000);
    }
    await harness.host.deliveries.runOnce();
    expect([attempts, await deliveries()]).toMatchObject([[1], [{ state: 'DONE', attempts: 1, lastError: null }]]);
  });

  test('the time limit of an attempt begins with the handler, not with the wait for a connection', async () => {
    let began = (): void => undefined;
    let end = (): void => undefined;
    const running = new Promise<void>((resolve) => (began = resolve));
    @Injectable()
    class Orders {
      @OnPaymentSucceeded({ consumer: 'orders' })
      take(): Promise<void> {
        began();
        return new Promise((resolve) => (end = resolve));
      }
    }
    harness = await startHarness({ providers: [Orders], options: { deliveries: { timeoutMs: 10_000 } } });
    await due();
    const waits = new Promise<void>((resolve) => at([CLAIM, () => void takeAll().then(() => resolve())]));
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'performance', 'Date'] });
    const attempt = harness.host.deliveries.runOnce();
    await waits;
    await jest.advanceTimersByTimeAsync(9_000);
    await giveBack();
    await running;
    await jest.advanceTimersByTimeAsync(9_000);
    end();
    await attempt;
    expect(await deliveries()).toMatchObject([{ state: 'DONE', attempts: 1 }]);
  });

  test.each([
    { inUse: 0, atOnce: 5, why: 'half of it' },
    { inUse: 7, atOnce: 2, why: 'what it has left but for one' },
    { inUse: 9, atOnce: 1, why: 'one, that all may go on' },
  ])('a pool of which the host uses $inUse runs $atOnce handlers at once: $why', async ({ inUse, atOnce }) => {
    const running: string[] = [];
    let end = (): void => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let reached = (): void => undefined;
    const full = new Promise<void>((resolve) => (reached = resolve));
    @Injectable()
    class Orders {
      @OnPaymentSucceeded({ consumer: 'orders' })
      take({ orderId }: { orderId: string }): Promise<void> {
        if (running.push(orderId) === atOnce) reached();
        return ended;
      }
    }
    harness = await startHarness({ providers: [Orders] });
    for (let order = 1; order <= 8; order += 1) await pay(harness, `order-${order}`);
    while ((await harness.host.confirmer.runOnce()) > 0);
    await takeAll(inUse);
    const once = harness.host.deliveries.runOnce();
    await full;
    end();
    expect(await once).toBe(atOnce);
    expect(running).toHaveLength(atOnce);
    while ((await harness.host.deliveries.runOnce()) > 0);
    expect(running).toHaveLength(8);
  });
});
