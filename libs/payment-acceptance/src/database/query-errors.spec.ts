import { describe, expect, test } from '@jest/globals';
import { ConcurrentChangeError, mayConcernOneRow } from './query-errors.js';
import { QueryFailedError } from './query-failed.error.js';

const failed = (codes: object) => new QueryFailedError('INSERT', Object.assign(new Error('failed'), codes));

describe('what one row of a batch may have caused', () => {
  test.each([
    ['a conflict that repetitions do not end', new ConcurrentChangeError('An event was concurrently added.'), true],
    ['an error of ours', new Error('a bug'), false],
    ['a value that does not fit', failed({ code: '22001' }), true],
    ['the same on MariaDB', failed({ code: 'ER_DATA_TOO_LONG', errno: 1406, sqlState: '22001' }), true],
    ['a statement that is too large for MariaDB', failed({ errno: 1153, sqlState: '08S01' }), true],
    ['a connection that PostgreSQL has ended', failed({ code: '57P01' }), false],
    ['a connection that MariaDB has lost', failed({ code: 'PROTOCOL_CONNECTION_LOST' }), false],
  ])(
    'a failed batch is tried row by row only after an error that one row may have caused: %s',
    (_what, error, expected) => {
      expect(mayConcernOneRow(error)).toBe(expected);
    },
  );
});
