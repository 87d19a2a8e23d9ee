import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { PaymentOperations } from 'nestjs-payment-acceptance/operations';
import { PaymentStatementTimeoutError } from 'nestjs-payment-acceptance';
import { startHarness, type Harness } from '../support/harness.js';
import { DatabaseProxy } from './history/database-proxy.js';

const STATEMENT_MS = 200;

describe('a connection that falls silent in a transaction', () => {
  let harness: Harness;
  let proxy: DatabaseProxy;

  beforeEach(async () => {
    harness = await startHarness({
      options: { statementTimeoutMs: STATEMENT_MS },
      through: async (databaseUrl) => (proxy = await DatabaseProxy.open(databaseUrl)).url,
    });
  });
  afterEach(async () => {
    await harness.close();
    await proxy.close();
  });

  /** A transaction of an operator, which leaves a record. */
  const act = (): Promise<number> => harness.host.app.get(PaymentOperations).replay({}, { operator: 'somebody' });

  async function records(): Promise<number> {
    return (await harness.host.dataSource.query<unknown[]>('SELECT id FROM payment_acceptance.operator_action')).length;
  }

  test.each([
    ['START TRANSACTION', 'swallow request', 0],
    ['START TRANSACTION', 'swallow answer', 0],
    ['COMMIT', 'swallow request', 0],
    ['COMMIT', 'swallow answer', 1],
  ] as const)(
    'a connection silent at its %s (%s) is given up within the limit of a statement',
    async (begins, fault, stored) => {
      await act();
      const before = await records();
      proxy.arm(fault, ({ text }) => text.startsWith(begins));
      await expect(act()).rejects.toThrow(PaymentStatementTimeoutError);
      expect((await records()) - before).toBe(stored);
      // Its place in the pool is free again. One by one: ten that open at once may each take longer than a statement may.
      const runners = Array.from({ length: 10 }, () => harness.host.dataSource.createQueryRunner());
      for (const runner of runners) await runner.connect();
      await Promise.all(runners.map((runner) => runner.release()));
      await act();
    },
  );
});
