import { expect, test } from '@jest/globals';
import { sql } from './statement.js';

test('a statement with a timeout never becomes part of another, which would lose it', () => {
  const patient = sql`SELECT 1`.withTimeout(60_000);
  expect(() => sql`${patient} LIMIT 1`).toThrow('cannot become part of another');
});
