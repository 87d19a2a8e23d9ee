import { describe, expect, test } from '@jest/globals';
import { counted, withProgress } from './progress.js';

describe('progress', () => {
  /** Passes on items that take a second each, by the injected clock. */
  async function work(terminal: boolean, items: number, total?: number) {
    let now = 0;
    const written: string[] = [];
    const output = withProgress(
      { out: (text) => void written.push(`out ${text}`), err: (text) => void written.push(text) },
      { terminal, now: () => now },
    );
    const list = Array.from({ length: items }, (_, index) => index);
    const passed: number[] = [];
    for await (const item of counted(list, output, 'bills imported', total)) {
      passed.push(item);
      now += 1_000;
    }
    output.out('done\n');
    expect(passed).toEqual(list);
    return written;
  }

  test('is a line now and then where nobody watches, and nothing for short work', async () => {
    expect(await work(false, 31, 31)).toEqual(['15 of 31 bills imported\n', '30 of 31 bills imported\n', 'out done\n']);
    expect(await work(false, 14)).toEqual(['out done\n']);
  });

  test('is one line on a terminal, which is gone before anything else is written', async () => {
    expect(await work(true, 2)).toEqual([
      '\r\u001b[2K1 bills imported',
      '\r\u001b[2K2 bills imported',
      '\r\u001b[2K',
      'out done\n',
    ]);
  });
});
