import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { TimeoutError } from '../common/timeout.js';
import type { Database } from '../database/database.js';
import type { PaymentStats } from './statistics.js';
import type { StatisticsStore } from './storage/statistics.store.js';
import { Snapshots } from './snapshot.js';

const STATS = { openReviews: 1 } as PaymentStats;

/** Resolvers of the database's pending answers. */
let owed: ((stats: PaymentStats) => void)[];
let snapshots: Snapshots;

describe('snapshot', () => {
  beforeEach(() => {
    jest.useFakeTimers();
    owed = [];
    const statistics = {
      stats: () => new Promise<PaymentStats>((resolve) => owed.push(resolve)),
      refusedShops: () => Promise.resolve(['eu']),
      failingConsumers: () => Promise.resolve([]),
      failingShops: () => Promise.resolve([]),
    };
    snapshots = new Snapshots(
      statistics as unknown as StatisticsStore,
      { verifyWritable: () => Promise.resolve() } as unknown as Database,
    );
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Catches the error at once, so that a reading that fails before it is awaited causes no unhandled rejection. */
  const outcome = (reading: Promise<unknown>): Promise<unknown> => reading.catch((error: unknown) => error);

  test('all callers within a second share one reading of the snapshot', async () => {
    const both = [snapshots.read(), snapshots.read()];
    owed[0]!(STATS);
    expect(await Promise.all(both)).toEqual([
      { ...STATS, refusedShops: ['eu'], failingConsumers: [], failingShops: [] },
      { ...STATS, refusedShops: ['eu'], failingConsumers: [], failingShops: [] },
    ]);
    jest.advanceTimersByTime(999);
    void snapshots.read();
    expect(owed).toHaveLength(1);
    jest.advanceTimersByTime(1);
    void outcome(snapshots.read());
    expect(owed).toHaveLength(2);
  });

  test('a reading of the snapshot that hangs times out after ten seconds, and the next one may succeed', async () => {
    const first = outcome(snapshots.read());
    jest.advanceTimersByTime(9_999);
    const joined = outcome(snapshots.read());
    expect(owed).toHaveLength(1);
    jest.advanceTimersByTime(1);
    expect(await first).toBeInstanceOf(TimeoutError);
    expect(await joined).toBeInstanceOf(TimeoutError);
    jest.advanceTimersByTime(1_000);
    const next = snapshots.read();
    owed[1]!(STATS);
    expect(await next).toMatchObject(STATS);
  });

  test('at most three readings of the snapshot hang at once, and each frees its slot when it ends', async () => {
    for (let reading = 0; reading < 5; reading += 1) {
      const hanging = outcome(snapshots.read());
      jest.advanceTimersByTime(10_000);
      expect(await hanging).toBeInstanceOf(TimeoutError);
      jest.advanceTimersByTime(1_000);
    }
    expect(owed).toHaveLength(3);
    owed[0]!(STATS);
    await jest.advanceTimersByTimeAsync(1_000);
    const next = snapshots.read();
    owed[3]!(STATS);
    expect(await next).toMatchObject(STATS);
  });
});
