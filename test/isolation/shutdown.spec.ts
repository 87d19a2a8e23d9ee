import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { RetentionWorker } from '../../libs/payment-acceptance/src/retention/retention.worker.js';
import { Database } from '../../libs/payment-acceptance/src/database/database.js';
import { takeAll } from '../support/beside.js';
import { startHarness, type Harness } from '../support/harness.js';
import { EffectWriter } from '../support/orders.js';
import { until } from '../support/until.js';

describe('a shutdown with every connection in use', () => {
  let harness: Harness;
  afterEach(() => harness.close());

  test('a shutdown with every connection in use waits no longer than shutdownTimeoutMs', async () => {
    harness = await startHarness({});
    const leaving = await harness.start({
      providers: [EffectWriter],
      options: {
        shutdownTimeoutMs: 100,
        retention: { everyMs: 1, pauseMs: 1 },
      },
    });
    const giveBack = await takeAll(leaving.app);
    try {
      const asked = jest.spyOn(leaving.app.get(Database).source, 'connect');
      const workers = [leaving.deliveries, leaving.confirmer, leaving.app.get(RetentionWorker)];
      for (const worker of workers) worker.start();
      // One poll of each worker waits for a connection, and none can end.
      await until(
        () => new Promise<number>((looks) => setImmediate(() => looks(asked.mock.calls.length))),
        (looks) => looks === 3,
      );
      const began = performance.now();
      await Promise.all(workers.map((worker) => worker.stop()));
      expect(performance.now() - began).toBeLessThan(5_000);
    } finally {
      giveBack();
    }
    await leaving.app.close();
  });
});
