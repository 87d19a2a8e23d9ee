import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setUp, stopAll, turn } from '../../../../test/support/leased-work.js';

describe('runOnce', () => {
  afterEach(stopAll);

  test('runOnce() claims one batch of at most `concurrency`, and resolves with its size when all have ended', async () => {
    const { work, worker } = setUp();
    work.queue.push('a', 'b', 'c');
    let done: number | undefined;
    const once = worker.runOnce().then((count) => (done = count));
    await work.until(() => work.started.length === 2);
    work.end('a');
    await turn();
    expect(done).toBeUndefined();
    work.end('b');
    await once;
    expect([done, work.limits, work.queue]).toEqual([2, [2], ['c']]);
  });

  test('runOnce() claims although housekeeping has failed, and logs the failure', async () => {
    const { work, worker, logged } = setUp();
    Object.assign(work, { maintain: () => Promise.reject(new Error('the table is locked')) });
    work.queue.push('a');
    const once = worker.runOnce();
    await work.until(() => work.started.length === 1);
    work.end('a');
    expect(await once).toBe(1);
    const line = 'Housekeeping has failed. Error: the table is locked';
    expect(logged).toHaveBeenCalledWith('poll-failed', line, { error: 'Error' });
  });

  test('runOnce() rejects because of a failed item only after the others have ended', async () => {
    const { work, worker } = setUp();
    work.queue.push('a', 'b');
    let failure: unknown;
    const once = worker.runOnce().catch((error: unknown) => (failure = error));
    await work.until(() => work.started.length === 2);
    work.end('a', new Error('a broke'));
    await turn();
    expect(failure).toBeUndefined();
    work.end('b');
    await once;
    expect(failure).toEqual(new Error('a broke'));
  });

  test('stop() aborts the items of runOnce() and waits for them', async () => {
    const { work, worker } = setUp();
    work.queue.push('a');
    const once = worker.runOnce();
    await work.until(() => work.started.length === 1);
    let stopped = false;
    const stop = worker.stop().then(() => (stopped = true));
    await turn();
    expect([stopped, work.signals.get('a')?.aborted]).toEqual([false, true]);
    work.end('a');
    await Promise.all([once, stop]);
  });
});

describe('the loop of a worker', () => {
  afterEach(stopAll);

  test('a worker never claims more items than it has room for, and refills as items end', async () => {
    const { work, worker } = setUp(3);
    work.queue.push('a', 'b', 'c', 'd', 'e');
    worker.start();
    worker.start();
    await work.until(() => work.started.length === 3);
    await turn();
    expect(work.queue).toEqual(['d', 'e']);
    work.end('b');
    await work.until(() => work.started.length === 4);
    expect(work.started.at(-1)).toBe('d');
    expect(work.limits.slice(0, 2)).toEqual([3, 1]);
    const stop = worker.stop();
    for (const item of ['a', 'c', 'd', 'e']) work.end(item);
    await stop;
    expect(work.queue).toEqual(['e']);
  });

  test('a woken worker polls at once, long before its pause ends', async () => {
    const { work, worker } = setUp();
    worker.start();
    await work.until(() => work.limits.length === 1);
    await turn();
    work.queue.push('a');
    worker.wake();
    await work.until(() => work.started.length === 1);
    work.end('a');
    await worker.stop();
  });

  test('a wake during a claim is not lost', async () => {
    const { work, worker } = setUp();
    worker.start();
    worker.wake();
    await work.until(() => work.limits.length === 2);
    await worker.stop();
  });

  test('a worker polls again after pollMs', async () => {
    const { work, worker } = setUp(1, 1);
    worker.start();
    await work.until(() => work.limits.length >= 3);
    await worker.stop();
  });

  test('a worker survives a failed claim and a failed item, and logs both', async () => {
    const { work, worker, logged } = setUp(1, 1);
    work.claimError = new Error('the database is away');
    worker.start();
    await work.until(() => work.limits.length >= 2);
    work.claimError = undefined;
    work.queue.push('a', 'b');
    await work.until(() => work.started.includes('a'));
    work.end('a', new Error('a broke'));
    await work.until(() => work.started.includes('b'));
    work.end('b');
    await worker.stop();
    expect(logged.mock.calls.map(([code, message]) => `${code}: ${message}`).join('\n')).toMatch(
      /poll-failed: .*the database is away[^]*work-failed: .*a broke/,
    );
    expect(logged.mock.calls.at(-1)?.[2]).toEqual({ deliveryId: 'a', error: 'Error' });
  });

  test('a worker is stalled when no poll succeeds, though each of them ends', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker } = setUp(1, 1_000);
      work.claimError = new Error('the disk is full');
      worker.start();
      await jest.advanceTimersByTimeAsync(60_000);
      expect(worker.state(60_000)).toBe('running');
      await jest.advanceTimersByTimeAsync(2_000);
      expect(worker.state(60_000)).toBe('stalled');
      work.claimError = undefined;
      await jest.advanceTimersByTimeAsync(1_000);
      expect(worker.state(60_000)).toBe('running');
      await worker.stop();
    } finally {
      jest.useRealTimers();
    }
  });

  test('after a failed claim a worker waits pollMs, whatever pause the work gave before', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker, logged } = setUp(1, 5_000);
      work.nextMs = 1;
      work.claimError = new Error('the database is away');
      worker.start();
      await jest.advanceTimersByTimeAsync(4_999);
      expect(logged).toHaveBeenCalledTimes(1);
      expect(logged).toHaveBeenCalledWith('poll-failed', expect.stringContaining('retrying in 5000 ms'), {
        error: 'Error',
      });
      await jest.advanceTimersByTimeAsync(1);
      expect(logged).toHaveBeenCalledTimes(2);
      await worker.stop();
    } finally {
      jest.useRealTimers();
    }
  });

  test('a worker polls before pollMs if the work says that there may be more', async () => {
    const { work, worker } = setUp(1);
    work.nextMs = 1;
    worker.start();
    await work.until(() => work.limits.length >= 3);
    await worker.stop();
  });

  test('slots that become free together are filled by one poll, and a later one by another', async () => {
    const { work, worker } = setUp(4);
    work.queue.push('a', 'b', 'c', 'd', 'e', 'f', 'g');
    worker.start();
    await work.until(() => work.started.includes('d'));
    work.end('a');
    work.end('b');
    await work.until(() => work.started.includes('f'));
    expect(work.limits).toEqual([4, 2]);
    work.end('c');
    await work.until(() => work.started.includes('g'));
    expect(work.limits).toEqual([4, 2, 1]);
    const stopped = worker.stop();
    for (const item of ['d', 'e', 'f', 'g']) work.end(item);
    await stopped;
  });

  test('a worker polls after an item that leaves more work, and not after one that leaves none', async () => {
    const { work, worker } = setUp(4);
    work.queue.push('a', 'b');
    worker.start();
    await work.until(() => work.started.length === 2);
    work.end('a');
    await turn();
    await turn();
    expect(work.limits).toEqual([4]);
    work.leaves = true;
    work.end('b');
    await work.until(() => work.limits.length === 2);
    await worker.stop();
  });

  test('while claims lack places for some items, a worker polls after each item', async () => {
    const { work, worker } = setUp(4);
    work.isFull = true;
    work.queue.push('a');
    worker.start();
    await work.until(() => work.started.length === 1);
    work.end('a');
    await work.until(() => work.limits.length === 2);
    await worker.stop();
  });

  test('a worker polls again if an item ended during a claim that lacked places', async () => {
    const { work, worker } = setUp(4);
    work.queue.push('a');
    worker.start();
    await work.until(() => work.started.length === 1);
    work.isFull = true;
    const answer = work.holdNextClaim();
    worker.wake();
    await work.until(() => work.limits.length === 2);
    work.end('a');
    await turn();
    answer();
    await work.until(() => work.limits.length === 3);
    await worker.stop();
  });

  test('a worker spaces its polls while items are in flight, so that one serves several wake-ups', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker } = setUp(10, 60_000);
      work.queue.push('a');
      worker.start();
      await jest.advanceTimersByTimeAsync(0);
      for (const next of ['b', 'c']) {
        work.queue.push(next);
        worker.wake();
      }
      await jest.advanceTimersByTimeAsync(4);
      expect(work.started).toEqual(['a']);
      await jest.advanceTimersByTimeAsync(1);
      expect([work.started, work.limits]).toEqual([
        ['a', 'b', 'c'],
        [10, 9],
      ]);
      work.leaves = true;
      for (const item of ['a', 'b', 'c']) work.end(item);
      await jest.advanceTimersByTimeAsync(0);
      // Nothing is in flight, so it polls at once.
      expect(work.limits).toEqual([10, 9, 10]);
      await worker.stop();
    } finally {
      jest.useRealTimers();
    }
  });

  test("an item runs in the worker's own async context, not in that of the caller that woke the worker", async () => {
    const { work, worker } = setUp(2);
    const context = new AsyncLocalStorage<string>();
    work.began = () => void seen.push(context.getStore());
    const seen: (string | undefined)[] = [];
    worker.start();
    await work.until(() => work.limits.length === 1);
    work.queue.push('a');
    context.run("the operator's transaction", () => worker.wake());
    await work.until(() => work.started.length === 1);
    expect(seen).toEqual([undefined]);
    work.end('a');
    await worker.stop();
  });

  test('after stop() a worker claims nothing, and a later start() does nothing', async () => {
    const { work, worker } = setUp(1, 1);
    await worker.stop();
    worker.start();
    worker.wake();
    await turn();
    expect(work.limits).toEqual([]);
  });
});
