import { afterEach, describe, expect, test } from '@jest/globals';
import { setCallbacks, startHarness, type Harness } from '../support/harness.js';
import { closing } from '../support/closing.js';
import { EffectWriter } from '../support/orders.js';
import { pay } from '../support/pay.js';
import { Statements } from '../support/statements.js';
import { until } from '../support/until.js';

/** Too long for any test, so whatever happens earlier was caused by a signal. */
const NEVER_MS = 3_600_000;
const running = (pollMs: number) => ({ autoStart: true, pollMs });

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
    test('wakes the working one at once, even after the connection between them was lost', async () => {
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

    test('leaves the work to the next poll if instances only poll', async () => {
      const options = { ...running(NEVER_MS), wakeUps: 'poll' as const };
      harness = await startHarness({ extras: { role: 'callbacks' }, options });
      const works = await harness.start({ providers: [EffectWriter], extras: { role: 'workers' }, options });
      expect(await listeners()).toEqual([]);
      await pay(harness, 'found');
      works.confirmer.wake();
      await paid('found');
    });
  });

  describe('an idle instance', () => {
    test('with two shops polls with less than one statement a second', async () => {
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
      // Three for each poll; five for expired leases, twice; three once to register shops and consumers.
      expect(statements).toBe(12 * 3 + 2 * 5 + 3);
    });
  });
});
