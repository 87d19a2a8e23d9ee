import { describe, expect, test } from '@jest/globals';
import { ConcurrentChangeError, mayConcernOneRow } from './query-errors.js';

describe('what one row of a batch may have caused', () => {
  test.each([
    ['a conflict that repetitions do not end', new ConcurrentChangeError('An event was concurrently added.'), true],
    ['an error of ours', new Error('a bug'), false],
  ])(
    'a failed batch is tried row by row only after an error that one row may have caused: %s',
    (_what, error, expected) => {
      expect(mayConcernOneRow(error)).toBe(expected);
    },
  );
});
