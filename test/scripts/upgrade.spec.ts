import { describe, expect, test } from '@jest/globals';
import { readArguments } from '../upgrade/arguments.mjs';
import { between, type Phase, problemsOf } from '../upgrade/phases.mjs';
import { refusedStatements } from '../upgrade/refused.mjs';

describe('a phase of the upgrade test', () => {
  const before = { orders: { previous: 5, present: 0 }, payments: 4, events: 3, migrations: 8 };
  const after = { orders: { previous: 9, present: 2 }, payments: 10, events: 8, migrations: 9 };
  const phase: Phase = { name: 'present joins', releases: ['previous', 'present'] };

  test('a phase reports its orders, payments, events and migrations', () => {
    expect(between(before, after)).toEqual({
      ...{ orders: { previous: 4, present: 2 }, payments: 6, events: 5 },
      migrations: 9,
    });
    expect(problemsOf({ ...phase, ...between(before, after) })).toEqual([]);
  });

  test('a phase fails if a release took no order, nobody paid, or nothing was settled', () => {
    expect(problemsOf({ ...phase, ...between(after, after) })).toEqual([
      'in the phase "present joins" the previous release took no order',
      'in the phase "present joins" the present release took no order',
      'in the phase "present joins" no payment was made',
      'in the phase "present joins" nothing was settled',
    ]);
    expect(problemsOf({ name: 'alone', releases: ['present'], ...between(before, after) })).toEqual([]);
  });
});

test('statements refused by the database are counted by instance and reason, without conflicts', () => {
  const yellow = (text: string) => `\u001b[33m${text}\u001b[39m`;
  const refusal = yellow('Bill b1 could not be checked. QueryFailedError: column "origin" does not exist');
  const other = `${refusal} { billId: 'b2' }`;
  const deadlock = yellow('QueryFailedError: Deadlock found when trying to get lock');
  expect(
    refusedStatements([
      { name: 'previous-1', log: `${refusal}\nall is well\n${other}\n${deadlock}\n` },
      { name: 'present-1', log: 'all is well\n' },
    ]),
  ).toEqual(['the database refused 2 statements of previous-1: column "origin" does not exist']);
});

describe('arguments of the upgrade test', () => {
  test('the upgrade test runs against the release in its file, unless another is given', () => {
    expect(readArguments(['--seed', '7'])).toEqual({ previous: undefined, seconds: 6, seed: 7 });
    expect(readArguments(['--previous', 'v1.2.3', '--seconds', '2.5'])).toMatchObject({
      previous: 'v1.2.3',
      seconds: 2.5,
    });
  });

  test.each([['--seconds', '0'], ['--seed', 'x'], ['--previous'], ['--minutes', '1']])(
    'the upgrade test refuses %s %s',
    (...args) => {
      expect(() => readArguments(args)).toThrow(/npm run test:upgrade/);
    },
  );
});
