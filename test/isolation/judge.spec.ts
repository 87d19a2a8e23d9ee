import { afterEach, describe, expect, test } from '@jest/globals';
import { defaultJudge, type Judge, type Verdict } from 'nestjs-payment-acceptance';
import { startHarness, type Harness } from '../support/harness.js';
import { pay } from '../support/pay.js';

describe("a host's judge that fails at one bill", () => {
  let harness: Harness;
  afterEach(() => harness.close());

  const failing: Record<string, () => Verdict[]> = {
    'by throwing': () => {
      throw new Error('no rate for 4111111111111111');
    },
    'with what JSON cannot hold': () => [{ kind: 'review', reason: 7n as never }],
    'with what no database takes': () => [{ kind: 'review', reason: 'a\0b' }],
  };
  test.each(Object.keys(failing))(
    'a judge that fails for one bill (%s) does not affect others, and its check records why',
    async (how) => {
      const judge: Judge = (bill, payments) =>
        bill.orderId === 'sick' ? (failing[how]?.() ?? []) : defaultJudge(bill, payments);
      harness = await startHarness({ options: { judge } });
      for (const order of ['a', 'sick', 'b']) await pay(harness, order);
      expect(await harness.host.confirmer.runOnce()).toBe(3);
      const { bills } = await harness.host.ledger();
      expect(Object.fromEntries(bills.map(({ orderId, state }) => [orderId, state]))).toEqual({
        a: 'PAID',
        sick: 'OPEN',
        b: 'PAID',
      });
      const [row]: { error: string }[] = await harness.host.dataSource.query(
        `SELECT last_check_error AS error FROM payment_acceptance.bill WHERE order_id = 'sick'`,
      );
      expect(row?.error).toMatch(/^PaymentJudgeError: The judge (threw|gave) .* \(shop "main", order sick\)/);
      expect(row?.error).not.toContain('4111111111111111');
    },
  );
});
