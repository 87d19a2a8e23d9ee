import { expect, test } from '@jest/globals';
import { sharedLookUps } from './shared-look-ups.js';

test('concurrent look-ups share one statement at a time, and each gets its own answer', async () => {
  const read: (readonly string[])[] = [];
  let running = 0;
  const lookUp = sharedLookUps<string>('test', 1_000, async (ids) => {
    read.push(ids);
    running += 1;
    expect(running).toBe(1);
    await new Promise(setImmediate);
    running -= 1;
    return new Map(ids.filter((id) => id !== 'none').map((id) => [id, `of ${id}`]));
  });
  const first = ['a', 'b', 'none', 'a'].map(lookUp);
  await new Promise(setImmediate);
  const later = ['c', 'd'].map(lookUp);
  expect(await Promise.all([...first, ...later])).toEqual(['of a', 'of b', undefined, 'of a', 'of c', 'of d']);
  expect(read).toEqual([
    ['a', 'b', 'none'],
    ['c', 'd'],
  ]);
});

test('a failed statement fails the look-ups that share it, and no later one', async () => {
  let fails = true;
  const lookUp = sharedLookUps('test', 1_000, () =>
    fails ? Promise.reject(new Error('no connection')) : Promise.resolve(new Map([['a', 1]])),
  );
  expect(await Promise.allSettled(['a', 'b'].map(lookUp))).toMatchObject([
    { status: 'rejected' },
    { status: 'rejected' },
  ]);
  fails = false;
  expect(await lookUp('a')).toBe(1);
});
