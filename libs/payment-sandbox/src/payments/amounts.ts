import { divideHalfUp, formatMinor, minorOf, parseDecimal } from '../common/decimal.js';
import type { Amount, Bill } from '../model/entities.js';
import type { TestCard } from './test-cards.js';

/** Largest decimal(10,2) in minor units (section 8): 99999999.99. */
export const MAX_MINOR = 99_999_999_99n;

/** Returns `[numerator, denominator]`, exactly. */
function fractionOf(percent: number): [bigint, bigint] {
  const { unscaled, scale } = parseDecimal(String(percent)) ?? { unscaled: 0n, scale: 0 };
  return [unscaled, 100n * 10n ** BigInt(scale)];
}

/** What the payer pays in total: the billed amount, plus the commission if the payer bears it (assumed). */
export function amountDue(bill: Pick<Bill, 'amount' | 'payerPaysCommission'>, commissionPercent: number): bigint {
  const billed = minorOf(bill.amount);
  if (!bill.payerPaysCommission) return billed;
  const [numerator, denominator] = fractionOf(commissionPercent);
  return billed + divideHalfUp(billed * numerator, denominator);
}

export function amountPaid(due: bigint, pays: TestCard['pays']): bigint {
  if (pays === 'half') return divideHalfUp(due, 2n);
  return pays === 'oneMore' ? due + 100n : due;
}

/**
 * Rounds half up to minor units (assumed). If the payer bears the commission, it is a percentage of what the shop
 * receives, otherwise of what was paid.
 */
export function splitPaid(
  paid: Amount,
  payerPaysCommission: boolean,
  commissionPercent: number,
): { amountReceived: Amount; commission: Amount } {
  const total = minorOf(paid);
  const [numerator, denominator] = fractionOf(commissionPercent);
  const commission = payerPaysCommission
    ? total - divideHalfUp(total * denominator, denominator + numerator)
    : divideHalfUp(total * numerator, denominator);
  return { amountReceived: formatMinor(total - commission), commission: formatMinor(commission) };
}
