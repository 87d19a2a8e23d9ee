import { afterEach, describe, expect, test } from '@jest/globals';
import { setCallbacks, startBed, type Bed } from '../support/bed.js';
import { closing } from '../support/closing.js';
import { EffectWriter } from '../support/orders.js';
import { pay } from '../support/pay.js';
import { Statements } from '../support/statements.js';
import { until } from '../support/until.js';

/** So rarely that no test sees it: what happens earlier was told of. */
const NEVER_MS = 3_600_000;
const running = (pollMs: number) => ({ autoStart: true, confirmer: { pollMs }, deliveries: { pollMs } });

let bed: Bed;

describe('wake ups', () => {
  const closeLater = closing();
  afterEach(() => bed.close());

  const listeners = () =>
    bed.host.dataSource.query<{ pid: number }[]>(
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%pg_notify%' AND pid <> pg_backend_pid()`,
    );
  const paid = (orderId: string) =>
    until(
      () => bed.effects(),
      (effects) => effects.some((effect) => effect.orderId === orderId),
    );

  describe('an instance that only receives callbacks', () => {
    test('wakes the one that works, at once, also after the connection between them was lost', async () => {
      bed = await startBed({ extras: { role: 'callbacks' }, options: running(NEVER_MS) });
      await bed.start({ providers: [EffectWriter], extras: { role: 'workers' }, options: running(NEVER_MS) });
      await setCallbacks(bed.sandbox, bed.host.url);
      await until(listeners, (all) => all.length === 2);
      await pay(bed, 'told');
      await paid('told');

      const lost = await listeners();
      for (const { pid } of lost) await bed.host.dataSource.query('SELECT pg_terminate_backend($1)', [pid]);
      await pay(bed, 'told-again');
      await until(listeners, (all) => all.length === 2 && all.every(({ pid }) => lost.every((old) => old.pid !== pid)));
      await paid('told-again');
    });

    test('leaves it to the next look where instances only poll', async () => {
      const options = { ...running(NEVER_MS), wakeUps: 'poll' as const };
      bed = await startBed({ extras: { role: 'callbacks' }, options });
      const works = await bed.start({ providers: [EffectWriter], extras: { role: 'workers' }, options });
      expect(await listeners()).toEqual([]);
      await pay(bed, 'found');
      works.confirmer.wake();
      await paid('found');
    });
  });

  describe('an idle instance', () => {
    test('of two shops looks for work with less than a statement a second', async () => {
      bed = await startBed({ providers: [EffectWriter] });
      await bed.settle();
      const count = new Statements(bed.host.dataSource);
      closeLater(count.stop);
      // Every five seconds, as is the default: what a minute costs.
      for (let second = 0; second < 60; second += 5) {
        bed.clock.advance(5_000);
        expect(await bed.host.confirmer.runOnce()).toBe(0);
        expect(await bed.host.deliveries.runOnce()).toBe(0);
      }
      const { statements } = count.take();
      expect(statements).toBeLessThan(60);
      // Three for each look; four for what was given up, twice; three once to say which shops and consumers are there.
      expect(statements).toBe(12 * 3 + 2 * 4 + 3);
    });
  });
});
