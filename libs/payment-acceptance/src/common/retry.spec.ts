import { describe, expect, test } from '@jest/globals';
import { retry, type RetryPolicy } from './retry.js';

/** Fails with each of these errors in turn, then succeeds; counts its calls. */
function flaky(...errors: Error[]) {
  let calls = 0;
  return {
    get calls() {
      return calls;
    },
    attempt: () => {
      calls += 1;
      const error = errors[calls - 1];
      return error ? Promise.reject(error) : Promise.resolve('done');
    },
  };
}

const policy = (more: Partial<RetryPolicy> = {}): RetryPolicy => ({
  attempts: 3,
  baseMs: 0,
  capMs: 0,
  fraction: () => 0,
  ...more,
});
const always = () => ({ afterMs: 0 });
const [one, two, three] = [new Error('one'), new Error('two'), new Error('three')];

describe('retry', () => {
  test('retry resolves with the first result', async () => {
    const work = flaky(one, two);
    await expect(retry(policy(), work.attempt, always)).resolves.toBe('done');
    expect(work.calls).toBe(3);
  });

  test('retry rejects with the last error when its attempts are used up', async () => {
    const work = flaky(one, two, three);
    await expect(retry(policy({ attempts: 2 }), work.attempt, always)).rejects.toBe(two);
    expect(work.calls).toBe(2);
  });

  test('retry does not repeat an attempt after an error that rules it out', async () => {
    const work = flaky(one, two);
    await expect(retry(policy(), work.attempt, (error) => error === one && always())).rejects.toBe(two);
    await expect(retry(policy(), flaky(one).attempt, () => false)).rejects.toBe(one);
    expect(work.calls).toBe(2);
  });

  test('retry rejects at once if the other side asks for a longer pause than the cap', async () => {
    const work = flaky(one);
    await expect(retry(policy({ capMs: 10 }), work.attempt, () => ({ afterMs: 11 }))).rejects.toBe(one);
    expect(work.calls).toBe(1);
  });

  test('retry draws each pause below a ceiling that doubles up to the cap', async () => {
    const drawn: number[] = [];
    const ceilings = { attempts: 5, baseMs: 1, capMs: 3, fraction: () => (drawn.push(1), 0) };
    await retry(policy(ceilings), flaky(one, one, one, one).attempt, always);
    expect(drawn).toHaveLength(4);
    const started = performance.now();
    await retry(policy({ attempts: 4, baseMs: 2, capMs: 5, fraction: () => 1 }), flaky(one, one, one).attempt, always);
    expect(performance.now() - started).toBeGreaterThanOrEqual(2 + 4 + 5 - 3);
  });

  test('an abort ends the pause of a retry at once, with the last error', async () => {
    const control = new AbortController();
    const hour = 3_600_000;
    const work = flaky(one);
    const waiting = retry(
      policy({ baseMs: hour, capMs: hour, fraction: () => 1, signal: control.signal }),
      work.attempt,
      always,
    );
    setImmediate(() => control.abort());
    await expect(waiting).rejects.toBe(one);
    await expect(retry(policy({ signal: control.signal }), work.attempt, always)).resolves.toBe('done');
  });
});
