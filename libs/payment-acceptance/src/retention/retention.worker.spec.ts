import { expect, jest, test } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { resolved } from '../../../../test/support/units.js';
import { PaymentRandom } from '../common/random.js';
import { RetentionWorker } from './retention.worker.js';
import type { RetentionStore } from './storage/retention.store.js';

test('a retention step that fails waits for the next turn, and the others go on batch by batch', async () => {
  const logged = jest.spyOn(Logger.prototype, 'error').mockImplementation(() => undefined);
  const calls: string[] = [];
  let endOfTest = (): void => undefined;
  const secondTurn = new Promise<void>((resolve) => {
    endOfTest = resolve;
  });
  const store = {
    deleteCallbacks: () => Promise.resolve(calls.push('delete') < 5 ? 500 : 0),
    redactCallbacks: () => Promise.resolve(0),
    redactBills: () => {
      if (calls.push('bills') > 6) endOfTest();
      return Promise.reject(new Error('canceling statement due to statement timeout'));
    },
    redactNotes: () => Promise.resolve(0),
    redactLostBills: () => Promise.resolve(0),
  };
  const options = resolved({}, { retention: { redactBillsAfterMs: 1_000, pauseMs: 1, everyMs: 1 } });
  const worker = new RetentionWorker(store as unknown as RetentionStore, new PaymentRandom(), options);
  worker.start();
  await secondTurn;
  await worker.stop();
  expect(calls.slice(0, 7)).toEqual(['delete', 'bills', 'delete', 'delete', 'delete', 'delete', 'bills']);
  expect(logged).toHaveBeenCalled();
  logged.mockRestore();
});
