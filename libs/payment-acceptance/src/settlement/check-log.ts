import { errorType } from '../common/errors.js';
import type { GroupCommitTimeoutError } from '../common/group-commit.js';
import type { LogFields, PaymentLogger } from '../common/payment-logger.js';
import type { ClaimedBill } from '../domain/claim.js';

export function fieldsOf({ shop, orderId, billId, intentId, token: check }: ClaimedBill): LogFields {
  return { shop, orderId, billId, intentId, check };
}

export function warnOfProblems(logger: PaymentLogger, claim: ClaimedBill, problems: readonly string[]): void {
  logger.write(
    'payments-unreadable',
    `Cannot read every payment of bill ${claim.billId} of shop "${claim.shop}" that the service lists: ` +
      `${problems.slice(0, 5).join(', ')}. The others are settled, and a review is open.`,
    fieldsOf(claim),
  );
}

/** Returns the outcome of the check. */
export function logTimeout(logger: PaymentLogger, claim: ClaimedBill, error: GroupCommitTimeoutError): string {
  const type = errorType(error);
  const what = `The settlement of bill ${claim.billId} of shop "${claim.shop}" timed out`;
  const line = `${what}; the bill will be checked again when its lease expires. ${error.message}`;
  logger.write('settlement-timed-out', line, { ...fieldsOf(claim), error: type });
  return type;
}
