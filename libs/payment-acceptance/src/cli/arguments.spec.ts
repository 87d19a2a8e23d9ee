import { describe, expect, test } from '@jest/globals';
import { HELP, readArguments, UsageError } from './arguments.js';

/** The paragraphs of the help: usage, the commands, the common options, the exit codes. */
const [, commands = '', common = ''] = HELP.split('\n\n');
const optionsOf = (text: string): string[] => Array.from(text.matchAll(/(?<=--)[a-z][a-z-]*/g), ([name]) => name);
/** Each command with its lines of the help. */
const BLOCKS = commands.split(/\n(?= {2}\w)/).map((block) => [/[\w-]+/.exec(block)![0], block] as const);
const FLAGS = ['json', 'all', 'followed', 'dry-run', 'from-log'];

function takes(command: string, block: string, option: string): boolean {
  const operand = /^ +[\w-]+ [A-Z]/.test(block) ? ['x'] : [];
  const value = FLAGS.includes(option) ? [] : ['x'];
  try {
    readArguments([command, ...operand, `--${option}`, ...value]);
    return true;
  } catch (error) {
    expect((error as Error).message).toBe(`${command} has no option --${option}.`);
    return false;
  }
}

describe('the command line', () => {
  test('readArguments reads a command, its operand and its options', () => {
    expect(readArguments(['check', 'b-1', '-s', 'eu', '--json'])).toMatchObject({
      command: 'check',
      operand: 'b-1',
      values: { shop: 'eu', json: true },
    });
    expect(readArguments(['-d', 'x.js', 'status'])).toMatchObject({ command: 'status', operand: '' });
  });

  test.each([['--help'], ['-h'], ['check', '--help']])('a command line asks for help: %s %s', (...args) => {
    expect(readArguments(args)).toBeUndefined();
  });

  test.each(BLOCKS)('the command %s takes the options that the help lists, and no others', (command, block) => {
    const said = [...optionsOf(block), ...(command === 'init' ? ['json'] : optionsOf(common))];
    const every = [...new Set(optionsOf(commands + common))].filter((option) => option !== 'help');
    expect(every.filter((option) => takes(command, block, option)).sort()).toEqual(
      every.filter((option) => said.includes(option)).sort(),
    );
  });

  test.each([
    [[], 'Missing command.'],
    [['settle'], 'Unknown command "settle"'],
    [['toString'], 'Unknown command "toString"'],
    [['check'], 'check needs a BILL'],
    [['check', 'a', 'b'], 'Unexpected argument for check: "b"'],
    [['migrate', 'now'], 'Unexpected argument for migrate: "now"'],
    [['migrate', '--shop', 'eu'], 'migrate has no option --shop'],
    [['status', '--dry-run'], 'status has no option --dry-run'],
    [['erase', '--order', 'a', '--order', 'b'], '--order was given more than once.'],
    [['status', '--nonsense'], '--nonsense'],
    [['status', '--shop'], '--shop'],
  ])('the arguments %j are refused: %s', (args, sentence) => {
    expect(() => readArguments(args)).toThrow(UsageError);
    expect(() => readArguments(args)).toThrow(sentence);
  });
});
