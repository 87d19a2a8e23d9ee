import { describe, expect, test } from '@jest/globals';
import {
  GroupCommit,
  GroupCommitFullError,
  GroupCommitTimeoutError,
  type ItemOutcome,
  type GroupCommitOptions,
} from './group-commit.js';

/** Logs each batch; the text of an item says how it ends. */
function setUp(more: Partial<GroupCommitOptions<string, string>> = {}) {
  const log: string[] = [];
  let gate = Promise.resolve();
  const alone = (item: string): Promise<string> => {
    log.push(`alone ${item}`);
    return item === 'poison' ? Promise.reject(new Error('poison')) : Promise.resolve(`${item} alone`);
  };
  const run = async (items: readonly string[]): Promise<(ItemOutcome<string> | undefined)[]> => {
    log.push(items.join(' '));
    await gate;
    if (items.includes('poison')) throw new TypeError('a batch with poison');
    if (items.includes('outage')) throw new RangeError('an outage');
    return items.map((item) =>
      item === 'locked' ? undefined : item === 'wrong' ? { error: new Error('wrong') } : { value: item },
    );
  };
  const isSeparable = (error: unknown, items: readonly string[]): boolean =>
    items.length > 1 && error instanceof TypeError;
  const batches = new GroupCommit<string, string>({
    name: 'Test',
    maxBatch: 3,
    timeoutMs: 60_000,
    run,
    processSingle: alone,
    isSeparable,
    ...more,
  });
  const all = (...items: string[]) => Promise.allSettled(items.map((item) => batches.add(item)));
  return { log, batches, all, hold: (until: Promise<void>): void => void (gate = until) };
}

const ends = (results: readonly PromiseSettledResult<string>[]) =>
  results.map((result) => (result.status === 'fulfilled' ? result.value : String(result.reason)));

describe('group commit', () => {
  test('items that arrive in one turn form one batch, in order, up to maxBatch', async () => {
    const { log, all } = setUp();
    expect(ends(await all('a', 'b', 'c', 'd'))).toEqual(['a', 'b', 'c', 'd']);
    expect(log).toEqual(['a b c', 'd']);
  });

  test('items that arrive while a batch runs form the next one', async () => {
    const { log, batches, hold } = setUp();
    let open = (): void => undefined;
    hold(new Promise((resolve) => (open = resolve)));
    const first = batches.add('a');
    while (log.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const later = [batches.add('b'), batches.add('c')];
    open();
    expect(await Promise.all([first, ...later])).toEqual(['a', 'b', 'c']);
    expect(log).toEqual(['a', 'b c']);
  });

  test('an item left out of its batch is processed alone, and a failing item fails alone', async () => {
    const { log, all } = setUp();
    expect(ends(await all('a', 'locked', 'wrong'))).toEqual(['a', 'locked alone', 'Error: wrong']);
    expect(log).toEqual(['a locked wrong', 'alone locked']);
  });

  test('a failed batch is retried item by item if one item may be the cause, and fails as a whole if none can be', async () => {
    const { all } = setUp();
    expect(ends(await all('a', 'poison', 'b'))).toEqual(['a alone', 'Error: poison', 'b alone']);
    expect(ends(await all('a', 'outage'))).toEqual(['RangeError: an outage', 'RangeError: an outage']);
    // An item that is alone in its batch is itself to blame.
    expect(ends(await all('poison'))).toEqual(['TypeError: a batch with poison']);
    expect(ends(await all('c'))).toEqual(['c']);
  });

  test('a batch that does not end is given up, and the next one runs', async () => {
    const { log, batches, hold } = setUp({ timeoutMs: 20 });
    let open = (): void => undefined;
    hold(new Promise((resolve) => (open = resolve)));
    const hanging = batches.add('a');
    while (log.length === 0) await new Promise((resolve) => setImmediate(resolve));
    hold(Promise.resolve());
    const next = batches.add('b');
    await expect(hanging).rejects.toThrow(GroupCommitTimeoutError);
    expect(await next).toBe('b');
    open();
    expect(log).toEqual(['a', 'b']);
  });

  test('while two batches hang, no third one starts and all new items are refused at once', async () => {
    const { log, batches, hold } = setUp({ timeoutMs: 20 });
    const opened: (() => void)[] = [];
    hold(new Promise((resolve) => opened.push(resolve)));
    const first = batches.add('a');
    const second = expect(first)
      .rejects.toThrow(GroupCommitTimeoutError)
      .then(() => batches.add('b'));
    await expect(second).rejects.toThrow('did not answer within 20 ms');
    const began = performance.now();
    await expect(batches.add('c')).rejects.toThrow(/has not answered earlier statements/);
    expect(performance.now() - began).toBeLessThan(20);
    expect(log).toEqual(['a', 'b']);
    hold(Promise.resolve());
    opened.forEach((open) => open());
    await new Promise((resolve) => setImmediate(resolve));
    expect(await batches.add('d')).toBe('d');
  });

  describe('while a batch is held up', () => {
    /** One batch is in flight, and stays so until `open()`. */
    async function heldUp(more: Partial<GroupCommitOptions<string, string>>) {
      const { log, batches, hold } = setUp(more);
      let open = (): void => undefined;
      hold(new Promise((resolve) => (open = resolve)));
      const first = batches.add('first');
      while (log.length === 0) await new Promise((resolve) => setImmediate(resolve));
      return { log, batches, first, open };
    }

    test('items beyond maxWaiting are refused while a batch is held up', async () => {
      const { batches, first, open } = await heldUp({ maxWaiting: 2 });
      const second = batches.add('second');
      await expect(batches.add('third')).rejects.toThrow(GroupCommitFullError);
      open();
      expect(await Promise.all([first, second])).toEqual(['first', 'second']);
      expect(await batches.add('third')).toBe('third');
    });

    test('an item that has waited too long is given up and left out of later batches', async () => {
      const { log, batches, first, open } = await heldUp({ maxWaitMs: 20 });
      const late = batches.add('late');
      await expect(first).rejects.toThrow(GroupCommitTimeoutError);
      await expect(late).rejects.toThrow('did not answer within 20 ms');
      const next = batches.add('next');
      open();
      expect(await next).toBe('next');
      expect(log).toEqual(['first', 'next']);
    });

    test('waiting items of one kind form one batch', async () => {
      const { log, batches, open } = await heldUp({ kindOf: (item) => item[0], maxBatch: 4 });
      const all = ['a1', 'b1', 'a2', 'b2'].map((item) => batches.add(item));
      open();
      expect(await Promise.all(all)).toEqual(['a1', 'b1', 'a2', 'b2']);
      expect(log).toEqual(['first', 'a1 a2', 'b1 b2']);
    });
  });

  test('no more than maxSingles items are processed alone at once', async () => {
    let atOnce = 0;
    let most = 0;
    const alone = async (item: string): Promise<string> => {
      most = Math.max(most, (atOnce += 1));
      await new Promise((resolve) => setImmediate(resolve));
      atOnce -= 1;
      return item;
    };
    const run = (items: readonly string[]) => Promise.resolve(items.map(() => undefined));
    const { all } = setUp({ maxBatch: 9, maxSingles: 2, processSingle: alone, run });
    expect(ends(await all('a', 'b', 'c', 'd', 'e'))).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect(most).toBe(2);
  });
});
