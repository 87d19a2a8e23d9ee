import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { OnPaymentSucceeded } from 'nestjs-payment-acceptance';
import { PaymentHealthIndicator } from 'nestjs-payment-acceptance/operations';
import { PaymentRandom } from 'nestjs-payment-acceptance/testing';
import { startHarness, type Harness } from '../support/harness.js';
import { pay } from '../support/pay.js';
import { until } from '../support/until.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

@Injectable()
class Mails {
  @OnPaymentSucceeded({ consumer: 'mails' })
  send(): never {
    throw new Error('the mail server is down');
  }
}

@Injectable()
class Orders {
  @OnPaymentSucceeded({ consumer: 'orders' })
  take(): void {
    // All is well.
  }
}

/** Pauses are as short as they may be. */
class ShortPauses extends PaymentRandom {
  override fraction = (): number => 0;
}

describe('a handler that fails again and again', () => {
  let harness: Harness;
  beforeEach(async () => {
    harness = await startHarness({ providers: [Mails, Orders], random: new ShortPauses() });
    await pay(harness, 'paid');
    await harness.settle();
  });
  afterEach(() => harness.close());

  async function delivery(): Promise<{ state: string; dueAt: Date; attempts: number }> {
    const [row]: { state: string; dueAt: Date; attempts: number }[] = await harness.host.dataSource.query(
      `SELECT state, due_at AS "dueAt", attempts FROM payment_acceptance.delivery WHERE consumer = 'mails'`,
    );
    return row!;
  }

  test('a failing delivery is retried for at least a day, at first soon and later hourly', async () => {
    const pauses: number[] = [];
    for (let now = await delivery(); now.state === 'PENDING'; now = await delivery()) {
      const pauseMs = now.dueAt.getTime() - harness.clock.now().getTime() + 10;
      pauses.push(pauseMs);
      harness.clock.advance(pauseMs);
      await harness.host.deliveries.runOnce();
    }
    const sum = (some: number[]): number => some.reduce((a, b) => a + b, 0);
    expect(sum(pauses)).toBeGreaterThan(24 * HOUR - MINUTE);
    expect(sum(pauses.slice(0, 5))).toBeLessThan(30_000);
    expect(Math.max(...pauses)).toBeLessThan(HOUR);
    expect(await delivery()).toMatchObject({ state: 'DEAD', attempts: pauses.length + 1 });
  });

  test('a delivery that has failed for ten minutes appears in health, with its age', async () => {
    const health = async () => (await harness.host.app.get(PaymentHealthIndicator).isHealthy('p')).p;
    harness.clock.advance(9 * MINUTE);
    const before = await health();
    expect(before.degraded).not.toContain('deliveries-failing');
    expect(before.backlog?.failingConsumers).toMatchObject([{ consumer: 'mails', deliveries: 1 }]);
    harness.clock.advance(MINUTE);
    const { backlog } = await until(health, ({ degraded }) => degraded.includes('deliveries-failing'));
    expect(backlog?.failingConsumers).toEqual([
      { consumer: 'mails', deliveries: 1, oldestMs: expect.any(Number), ordersNotFound: 0, reason: 'Error' },
    ]);
    expect(Math.floor(backlog!.failingConsumers[0]!.oldestMs / MINUTE)).toBe(10);
  });
});
