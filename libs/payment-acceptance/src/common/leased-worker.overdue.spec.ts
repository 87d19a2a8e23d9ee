import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { setUp, stopAll, stops, turn } from '../../../../test/support/leased-work.js';
import { LeasedWorker, type ClaimResult } from './leased-worker.js';
import { PaymentLogger } from './payment-logger.js';

describe('a worker whose polls or items do not end', () => {
  afterEach(stopAll);

  test('a worker shows whether it runs, hangs in a claim, or has been stopped', async () => {
    let answer = (): void => undefined;
    const claim = () =>
      new Promise<ClaimResult<string>>((resolve) => (answer = () => resolve({ items: [], nextMs: null })));
    const work = { claim, process: () => Promise.resolve(false), fieldsOf: () => ({}) };
    const worker = new LeasedWorker(
      work,
      { concurrency: 1, pollMs: 5, shutdownTimeoutMs: 10_000 },
      new PaymentLogger('test'),
    );
    const stop = (): Promise<void> => {
      const stopped = worker.stop();
      answer();
      return stopped;
    };
    stops.push(stop);
    expect(worker.state(60_000)).toBe('not-started');
    worker.start();
    expect(worker.state(60_000)).toBe('running');
    for (const deadline = Date.now() + 10_000; worker.state(0) !== 'stalled' && Date.now() < deadline;) await turn();
    expect([worker.state(0), worker.state(60_000)]).toEqual(['stalled', 'running']);
    answer();
    await turn();
    await stop();
    expect(worker.state(0)).toBe('stopped');
  });

  test('a worker polls beside a poll that timed out, logs it, and processes what that poll leases in the end', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker, logged } = setUp(1, 5_000);
      const claim = work.claim.bind(work);
      let release = (): void => undefined;
      work.claim = () => new Promise((resolve) => (release = () => resolve({ items: ['late'], nextMs: null })));
      worker.start();
      await jest.advanceTimersByTimeAsync(59_999);
      expect([logged.mock.calls, worker.state(60_000)]).toEqual([[], 'running']);
      work.claim = claim;
      work.queue.push('a');
      await jest.advanceTimersByTimeAsync(1);
      expect(logged.mock.calls[0]?.[1]).toMatch(/Could not poll for work.* did not answer within 60000 ms/);
      await jest.advanceTimersByTimeAsync(4_999);
      expect([work.started, worker.state(59_000)]).toEqual([[], 'stalled']);
      await jest.advanceTimersByTimeAsync(1);
      expect([work.started, worker.state(59_000)]).toEqual([['a'], 'running']);
      release();
      await turn();
      expect(work.started).toEqual(['a', 'late']);
      const stopped = worker.stop();
      work.end('a');
      work.end('late');
      await stopped;
    } finally {
      jest.useRealTimers();
    }
  });

  test('a worker never has more than two polls in flight, even while one is overdue', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker, logged } = setUp(1, 5_000);
      const answers: (() => void)[] = [];
      work.claim = () => new Promise((resolve) => answers.push(() => resolve({ items: [], nextMs: null })));
      worker.start();
      await jest.advanceTimersByTimeAsync(3_600_000);
      expect([answers.length, logged.mock.calls.length, worker.state(60_000)]).toEqual([2, 1, 'stalled']);
      // Only the end of the overdue poll makes room for another.
      answers[0]!();
      await turn();
      expect(worker.state(60_000)).toBe('running');
      answers[1]!();
      await jest.advanceTimersByTimeAsync(5_000);
      expect(answers).toHaveLength(3);
      const stopped = worker.stop();
      answers[2]!();
      await stopped;
    } finally {
      jest.useRealTimers();
    }
  });

  test('stop() waits for a poll no longer than shutdownTimeoutMs, logs it, and aborts what it leases later', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker, logged } = setUp(1, 5_000);
      let release = (): void => undefined;
      work.claim = () => new Promise((resolve) => (release = () => resolve({ items: ['late'], nextMs: null })));
      worker.start();
      let stopped = false;
      const stop = worker.stop().then(() => (stopped = true));
      await jest.advanceTimersByTimeAsync(9_999);
      expect([stopped, logged.mock.calls]).toEqual([false, []]);
      await jest.advanceTimersByTimeAsync(1);
      await stop;
      expect(logged.mock.calls[0]?.[1]).toMatch(
        /^A poll for work did not end within 10 s after the worker was stopped/,
      );
      release();
      await turn();
      expect(work.signals.get('late')?.aborted).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  test('stop() waits for items some seconds longer than shutdownTimeoutMs, so that they can record their outcome', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker, logged } = setUp(1, 5_000);
      work.queue.push('a');
      worker.start();
      await work.until(() => work.started.length === 1);
      let stopped = false;
      const stop = worker.stop().then(() => (stopped = true));
      await jest.advanceTimersByTimeAsync(14_990);
      expect([stopped, logged.mock.calls]).toEqual([false, []]);
      await jest.advanceTimersByTimeAsync(10);
      await stop;
      expect(logged.mock.calls[0]?.[1]).toMatch(/^Work in flight did not end within 15 s after/);
    } finally {
      jest.useRealTimers();
    }
  });
});
