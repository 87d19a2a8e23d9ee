import { describe, expect, test } from '@jest/globals';
import { readArguments, UsageError } from './arguments.js';

describe('the command line', () => {
  test('is a command, its operand and its options', () => {
    expect(readArguments(['check', 'b-1', '-s', 'eu', '--json'])).toMatchObject({
      command: 'check',
      operand: 'b-1',
      values: { shop: 'eu', json: true },
    });
    expect(readArguments(['-d', 'x.js', 'status'])).toMatchObject({ command: 'status', operand: '' });
  });

  test.each([['--help'], ['-h'], ['check', '--help']])('asks for help: %s %s', (...args) => {
    expect(readArguments(args)).toBeUndefined();
  });

  test.each([
    [[], 'Name a command'],
    [['settle'], 'There is no command "settle"'],
    [['toString'], 'There is no command "toString"'],
    [['check'], 'check needs a BILL'],
    [['check', 'a', 'b'], 'check does not take "b"'],
    [['migrate', 'now'], 'migrate does not take "now"'],
    [['migrate', '--shop', 'eu'], 'migrate takes no --shop'],
    [['status', '--dry-run'], 'status takes no --dry-run'],
    [['status', '--nonsense'], '--nonsense'],
    [['status', '--shop'], '--shop'],
  ])('%j is refused: %s', (args, sentence) => {
    expect(() => readArguments(args)).toThrow(UsageError);
    expect(() => readArguments(args)).toThrow(sentence);
  });
});
