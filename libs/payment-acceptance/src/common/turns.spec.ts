import { describe, expect, test } from '@jest/globals';
import { KeyedQueue } from './turns.js';

const LONG_MS = 60_000;

describe('KeyedQueue', () => {
  test('work of one key runs in turn, whatever became of earlier work, and other keys run at once', async () => {
    const turns = new KeyedQueue();
    const order: string[] = [];
    let release = (): void => undefined;
    const first = turns.run('a', () => new Promise<object>((resolve) => (release = () => resolve({}))), LONG_MS);
    const failing = turns.run('a', () => Promise.reject(new Error('failed')), LONG_MS).catch(() => order.push('a 2'));
    const third = turns.run('a', () => Promise.resolve({ place: order.push('a 3') }), LONG_MS);
    await turns.run('b', () => Promise.resolve({ place: order.push('b') }), LONG_MS);
    expect(order).toEqual(['b']);
    release();
    await Promise.all([first, failing, third]);
    expect(order).toEqual(['b', 'a 2', 'a 3']);
    expect(turns).toEqual(new KeyedQueue());
  });

  test('waiting work is given up at its time limit or when the caller aborts, and the next one has its turn', async () => {
    const turns = new KeyedQueue();
    let release = (): void => undefined;
    const first = turns.run('a', () => new Promise<object>((resolve) => (release = () => resolve({}))), LONG_MS);
    const never = (): Promise<object> => Promise.reject(new Error('It was begun.'));
    const caller = new AbortController();
    const aborted = turns.run('a', never, LONG_MS, caller.signal);
    caller.abort();
    expect(await aborted).toBeUndefined();
    expect(await turns.run('a', never, LONG_MS, caller.signal)).toBeUndefined();
    expect(await turns.run('a', never, 1)).toBeUndefined();
    const last = turns.run('a', () => Promise.resolve({ is: 'last' }), LONG_MS);
    release();
    await first;
    expect(await last).toEqual({ is: 'last' });
  });
});
