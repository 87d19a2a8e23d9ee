import { describe, expect, test } from '@jest/globals';
import { InFlight } from './in-flight.js';

function held<T>(): { work: Promise<T>; end: (value: T) => void; fail: (error: Error) => void } {
  let end = (_value: T): void => undefined;
  let fail = (_error: Error): void => undefined;
  const work = new Promise<T>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  return { work, end, fail };
}

describe('what is under way', () => {
  test('is counted until it ends, and ends as it did', async () => {
    const underWay = new InFlight();
    const [one, other] = [held<string>(), held<string>()];
    const [first, second] = [underWay.track(one.work), underWay.track(other.work)];
    expect(underWay.size).toBe(2);
    one.end('done');
    await expect(first).resolves.toBe('done');
    expect(underWay.size).toBe(1);
    other.fail(new Error('broken'));
    await expect(second).rejects.toThrow('broken');
    expect(underWay.size).toBe(0);
  });

  test('is waited for to the last, however it ends, with what has begun meanwhile', async () => {
    const underWay = new InFlight();
    const [one, other, late] = [held<string>(), held<string>(), held<string>()];
    const ends: string[] = [];
    const note = (name: string, work: Promise<string>) =>
      underWay.track(work).then(
        () => ends.push(name),
        () => ends.push(`${name} failed`),
      );
    const all = [note('one', one.work), note('other', other.work)];
    const over = underWay.idle().then(() => ends.push('over'));
    all.push(note('late', late.work));
    one.end('done');
    other.fail(new Error('broken'));
    await Promise.all(all.slice(0, 2));
    expect(ends).toEqual(['one', 'other failed']);
    late.end('done');
    await Promise.all([...all, over]);
    expect(ends).toHaveLength(4);
    expect(ends).toContain('over');
  });

  test('nothing is not waited for', async () => {
    await expect(new InFlight().idle()).resolves.toBeUndefined();
  });
});
