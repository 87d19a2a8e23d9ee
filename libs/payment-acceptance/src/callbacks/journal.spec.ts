import { expect, test } from '@jest/globals';
import { PaymentClock } from '../common/clock.js';
import { DEFAULT_CONSTANTS } from '../config/constants.js';
import type { ResolvedOptions } from '../config/resolved-options.js';
import { CallbackJournal } from './journal.js';
import type { CallbackStore } from './storage/callback.store.js';
import type { NewCallback } from './storage/stored-callback.js';

test('a shutdown waits for the callbacks that are being stored, not for those that arrive meanwhile', async () => {
  const commits: (() => void)[] = [];
  const recordMany = (callbacks: readonly NewCallback[]) =>
    new Promise<Set<string>>((resolve) => commits.push(() => resolve(new Set(callbacks.map(({ id }) => id)))));
  const options = { callbacks: { ...DEFAULT_CONSTANTS.callbacks, maxPerBill: 100 } };
  const journal = new CallbackJournal(
    { recordMany } as unknown as CallbackStore,
    new PaymentClock(),
    options as unknown as ResolvedOptions,
  );
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const record = async (id: string) => {
    const recorded = journal.record({ id, intentId: 'i' } as unknown as NewCallback);
    await turn();
    return recorded;
  };
  const first = record('first');
  await turn();
  let isDrained = false;
  const draining = journal.beforeApplicationShutdown().then(() => (isDrained = true));
  const late = record('late');
  await turn();
  expect(isDrained).toBe(false);
  commits[0]!();
  expect(await first).toBe('matched');
  await draining;
  const drainingLate = journal.onApplicationShutdown();
  await turn();
  commits[1]!();
  expect(await late).toBe('matched');
  await drainingLate;
  expect(await journal.onApplicationShutdown()).toBeUndefined();
});
