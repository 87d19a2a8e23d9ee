import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { LeasedWorker, type Claimed, type LeasedWork } from './leased-worker.js';
import { PaymentLogger } from './payment-logger.js';

/** A queue of items, each of which ends when the test says so. */
class Work implements LeasedWork<string> {
  readonly queue: string[] = [];
  readonly started: string[] = [];
  readonly limits: number[] = [];
  readonly signals = new Map<string, AbortSignal>();
  private readonly ends = new Map<string, PromiseWithResolversLike>();
  private readonly waiting: { ready: () => boolean; go: () => void }[] = [];
  claimError: Error | undefined;
  nextMs: number | null = null;
  private over = false;

  claim(limit: number): Promise<Claimed<string>> {
    this.limits.push(limit);
    this.notify();
    if (this.claimError) return Promise.reject(this.claimError);
    return Promise.resolve({ items: this.queue.splice(0, limit), nextMs: this.nextMs });
  }

  fieldsOf = (item: string) => ({ deliveryId: item });

  process(item: string, stopping: AbortSignal): Promise<void> {
    this.started.push(item);
    this.signals.set(item, stopping);
    if (this.over) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.ends.set(item, { resolve, reject });
      this.notify();
    });
  }

  end(item: string, error?: Error): void {
    const end = this.ends.get(item);
    if (error) end?.reject(error);
    else end?.resolve();
  }

  /** From now on nothing waits for the test. */
  endAll(): void {
    this.over = true;
    for (const item of this.ends.keys()) this.end(item);
  }

  /** Resolves as soon as that is so. */
  until(ready: () => boolean): Promise<void> {
    return ready() ? Promise.resolve() : new Promise((go) => this.waiting.push({ ready, go }));
  }

  private notify(): void {
    for (const { ready, go } of this.waiting) if (ready()) go();
  }
}

interface PromiseWithResolversLike {
  resolve: () => void;
  reject: (error: Error) => void;
}

const stops: (() => Promise<void>)[] = [];

async function stopAll(): Promise<void> {
  for (const stop of stops.splice(0)) await stop();
}

function setUp(concurrency = 2, pollMs = 3_600_000) {
  const work = new Work();
  const logger = new PaymentLogger('test');
  const logged = jest.spyOn(logger, 'error').mockImplementation(() => undefined);
  const worker = new LeasedWorker(work, { concurrency, pollMs, shutdownMs: 10_000 }, logger);
  stops.push(() => {
    work.endAll();
    return worker.stop();
  });
  return { work, logged, worker };
}

/** Lets every promise that is settled have its say. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('runOnce', () => {
  afterEach(stopAll);

  test('claims one batch of at most `concurrency`, and resolves with its size when all have ended', async () => {
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

  test('says that an item failed only after the others have ended', async () => {
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

  test('is waited for by stop(), which tells its items', async () => {
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

describe('by itself', () => {
  afterEach(stopAll);

  test('never claims more than it has room for, and refills as items end', async () => {
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

  test('looks again at once when woken, long before the poll', async () => {
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

  test('looks again by itself after pollMs', async () => {
    const { work, worker } = setUp(1, 1);
    worker.start();
    await work.until(() => work.limits.length >= 3);
    await worker.stop();
  });

  test('outlives a claim that fails and an item that fails, and says so', async () => {
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
    expect(logged.mock.calls.map(([message]) => message).join('\n')).toMatch(/the database is away[^]*a broke/);
    expect(logged.mock.calls.at(-1)?.[1]).toEqual({ deliveryId: 'a', error: 'Error' });
  });

  test('after a claim that fails it waits as long as it says, whatever the work knew before', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker, logged } = setUp(1, 5_000);
      work.nextMs = 1;
      work.claimError = new Error('the database is away');
      worker.start();
      await jest.advanceTimersByTimeAsync(4_999);
      expect(logged).toHaveBeenCalledTimes(1);
      expect(logged).toHaveBeenCalledWith(expect.stringContaining('trying again in 5000 ms'));
      await jest.advanceTimersByTimeAsync(1);
      expect(logged).toHaveBeenCalledTimes(2);
      await worker.stop();
    } finally {
      jest.useRealTimers();
    }
  });

  test('looks again before the next poll where the work knows that there may be more', async () => {
    const { work, worker } = setUp(1);
    work.nextMs = 1;
    worker.start();
    await work.until(() => work.limits.length >= 3);
    await worker.stop();
  });

  test('fills places that become free together by one look, and one that becomes free alone a moment later', async () => {
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

  test('while something is under way, looks are a moment apart, so that one takes what several signals told of', async () => {
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
      for (const item of ['a', 'b', 'c']) work.end(item);
      await jest.advanceTimersByTimeAsync(0);
      // Nothing is under way: nobody would tell of others.
      expect(work.limits).toEqual([10, 9, 10]);
      await worker.stop();
    } finally {
      jest.useRealTimers();
    }
  });

  test('says whether it runs, hangs in a claim, or has been stopped', async () => {
    let answer = (): void => undefined;
    const claim = () =>
      new Promise<Claimed<string>>((resolve) => (answer = () => resolve({ items: [], nextMs: null })));
    const work = { claim, process: () => Promise.resolve(), fieldsOf: () => ({}) };
    const worker = new LeasedWorker(work, { concurrency: 1, pollMs: 5, shutdownMs: 10_000 }, new PaymentLogger('test'));
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

  test('goes on beside a look that does not end, says so, and does what that has leased should it end after all', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker, logged } = setUp(1, 5_000);
      const claim = work.claim.bind(work);
      let letGo = (): void => undefined;
      work.claim = () => new Promise((resolve) => (letGo = () => resolve({ items: ['late'], nextMs: null })));
      worker.start();
      await jest.advanceTimersByTimeAsync(59_999);
      expect([logged.mock.calls, worker.state(60_000)]).toEqual([[], 'running']);
      work.claim = claim;
      work.queue.push('a');
      await jest.advanceTimersByTimeAsync(1);
      expect(logged.mock.calls[0]?.[0]).toMatch(/Could not look for work.* did not answer within 60000 ms/);
      await jest.advanceTimersByTimeAsync(4_999);
      expect([work.started, worker.state(59_000)]).toEqual([[], 'stalled']);
      await jest.advanceTimersByTimeAsync(1);
      expect([work.started, worker.state(59_000)]).toEqual([['a'], 'running']);
      letGo();
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

  test('waits for a look while another one is overdue: no more than two are ever under way', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker, logged } = setUp(1, 5_000);
      const answers: (() => void)[] = [];
      work.claim = () => new Promise((resolve) => answers.push(() => resolve({ items: [], nextMs: null })));
      worker.start();
      await jest.advanceTimersByTimeAsync(3_600_000);
      expect([answers.length, logged.mock.calls.length, worker.state(60_000)]).toEqual([2, 1, 'stalled']);
      // Only one that ends after its time makes room for another one.
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

  test('stop() waits for a look no longer than the shutdown may take, says so, and gives back what that leases', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    try {
      const { work, worker, logged } = setUp(1, 5_000);
      let letGo = (): void => undefined;
      work.claim = () => new Promise((resolve) => (letGo = () => resolve({ items: ['late'], nextMs: null })));
      worker.start();
      let stopped = false;
      const stop = worker.stop().then(() => (stopped = true));
      await jest.advanceTimersByTimeAsync(9_999);
      expect([stopped, logged.mock.calls]).toEqual([false, []]);
      await jest.advanceTimersByTimeAsync(1);
      await stop;
      expect(logged.mock.calls[0]?.[0]).toMatch(/^A look for work has not ended 10 s after the worker was stopped/);
      letGo();
      await turn();
      expect(work.signals.get('late')?.aborted).toBe(true);
    } finally {
      jest.useRealTimers();
    }
  });

  test('stop() waits for items some seconds longer than they may go on, so that how they ended can be recorded', async () => {
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
      expect(logged.mock.calls[0]?.[0]).toMatch(/^What was begun has not ended 15 s after/);
    } finally {
      jest.useRealTimers();
    }
  });

  test('after stop() nothing is claimed, and a later start() does nothing', async () => {
    const { work, worker } = setUp(1, 1);
    await worker.stop();
    worker.start();
    worker.wake();
    await turn();
    expect(work.limits).toEqual([]);
  });
});
