import { expect, test } from '@jest/globals';
import { Queryable, type Answer } from './queryable.js';
import { sql, type Statement } from './statement.js';

/** Records the timeout of each statement. */
class Recorder extends Queryable {
  readonly sent: [string, number | undefined][] = [];

  override run(statement: Statement, _gives: 'rows' | 'count', timeoutMs?: number): Promise<Answer> {
    this.sent.push([statement.text(() => '?'), timeoutMs]);
    return Promise.resolve({ rows: [], changed: 0 });
  }
}

test('a longer timeout applies to a statement, also to one composed of others', async () => {
  const recorder = new Recorder();
  const finding = sql`SELECT 1 AS id`;
  await recorder.withTimeout(60_000).rows({})`${finding}`;
  await recorder.withTimeout(60_000).change`DELETE FROM (${finding}) found`;
  await recorder.rows({})`${finding}`;
  expect(recorder.sent).toEqual([
    ['SELECT 1 AS id', 60_000],
    ['DELETE FROM (SELECT 1 AS id) found', 60_000],
    ['SELECT 1 AS id', undefined],
  ]);
});
