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

describe('InFlight', () => {
  test('tracked work is counted until it ends, and keeps its outcome', async () => {
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

  test('idle() waits for all tracked work, failed or not, including work that began meanwhile', async () => {
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

  test('idle() resolves at once if there is no work', async () => {
    await expect(new InFlight().idle()).resolves.toBeUndefined();
  });
});
