import { describe, expect, test } from '@jest/globals';
import { commandRange, satisfies } from './version-range.js';

describe('version range', () => {
  test.each([
    ['11.0.0', '^11.0.0 || ^12.0.0', true],
    ['12.5.1', '^11.0.0 || ^12.0.0', true],
    ['10.4.1', '^11.0.0 || ^12.0.0', false],
    ['13.0.0', '^11.0.0 || ^12.0.0', false],
    ['0.3.19', '^0.3.20 || ^1.0.0', false],
    ['0.3.20', '^0.3.20 || ^1.0.0', true],
    ['0.4.0', '^0.3.20 || ^1.0.0', false],
    ['1.0.0-rc.1', '^0.3.0 || ^1.0.0-dev', true],
    ['0.0.4', '^0.0.3', false],
    ['20.18.3', '>=20.19', false],
    ['20.19.0', '>=20.19', true],
    ['24.1.0', '>= 20.19', true],
    ['1.2.9', '~1.2.3', true],
    ['1.3.0', '~1.2.3', false],
    ['1.9.0', '1.x', true],
    ['2.0.0', '1', false],
    ['2.0.0', '>1', true],
    ['1.9.0', '<=1', true],
    ['1.5.0', '1.2.0 - 1.6.0', true],
    ['1.7.0', '1.2.0 - 1.6.0', false],
    ['1.2.3', '*', true],
    ['1.2.3', 'workspace:*', true],
    ['unreadable', '^1.0.0', true],
  ])('%s in %s: %s', (version, range, fits) => {
    expect(satisfies(version, range)).toBe(fits);
  });

  test.each([
    ['^4.0.0', '4'],
    ['^0.3.20', '0.3'],
    ['^3.0.1', '3'],
    ['0.1.0', '0.1'],
    ['*', '*'],
  ])('%s in a command is %s', (range, written) => {
    expect(commandRange(range)).toBe(written);
  });
});
