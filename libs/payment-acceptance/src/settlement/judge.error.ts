import { describeError, PaymentAcceptanceError } from '../common/errors.js';
import type { LockedBill } from '../domain/bill.js';
import { JudgeContractError } from '../domain/decide.js';

/**
 * The `judge` of the options threw, or returned something that is not a verdict. The check of that bill fails and is
 * retried, so that nothing is settled on a guess; other bills are not affected. Fix the judge: it must be pure and total.
 */
export class PaymentJudgeError extends PaymentAcceptanceError {
  readonly code = 'judge-failed';

  /**
   * @internal
   * @param error thrown while deciding on the bill, where only the judge is the host's code
   */
  constructor({ shop, orderId, billId }: Pick<LockedBill, 'shop' | 'orderId' | 'billId'>, error: unknown) {
    const problem = error instanceof JudgeContractError ? error.message : `The judge threw ${describeError(error)}.`;
    super(
      `${problem} The check of bill ${billId} (shop "${shop}", order ${orderId}) will be retried until the judge returns verdicts.`,
    );
  }
}
