import { compareAmounts, subtractAmounts } from './money.js';
import type { Judge, JudgedBill, ReportedPayment, Verdict } from './payment.js';

/**
 * The default judge (assumed: the specification is silent on how amounts relate).
 *
 * | payment | verdict |
 * |---|---|
 * | NEW, PROCESS | pending |
 * | a status that the specification does not have | review |
 * | FAIL | failed |
 * | SUCCESS, other currency, amount missing, not positive, or less than billed | review |
 * | SUCCESS, amount as billed | succeeded |
 * | SUCCESS, more than billed, the payer pays the commission | succeeded, with the surplus |
 * | SUCCESS, more than billed otherwise | succeeded, and a review `overpaid` |
 *
 * `amount_received` never decides, and payments are never added up.
 */
export const defaultJudge: Judge = (bill, payments) => payments.map((payment) => judgePayment(bill, payment));

/** The default judge's verdict on one payment: a building block for your own judge. */
export function judgePayment(bill: JudgedBill, payment: ReportedPayment): Verdict {
  switch (payment.status) {
    case 'FAIL':
      return { kind: 'failed' };
    case 'SUCCESS':
      return judgeMoney(bill, payment);
    case 'NEW':
    case 'PROCESS':
      return { kind: 'pending' };
    case 'UNKNOWN':
      return { kind: 'review', reason: 'unknown-status' };
  }
}

function judgeMoney(bill: JudgedBill, { amount, currency }: ReportedPayment): Verdict {
  if (currency !== bill.currency) return { kind: 'review', reason: 'wrong-currency' };
  if (amount === null) return { kind: 'review', reason: 'amount-missing' };
  if (compareAmounts(amount, '0.00') <= 0) return { kind: 'review', reason: 'amount-not-positive' };
  const difference = compareAmounts(amount, bill.amount);
  if (difference < 0) return { kind: 'review', reason: 'underpaid' };
  if (difference === 0) return { kind: 'succeeded' };
  const surplus = subtractAmounts(amount, bill.amount);
  return bill.payerPaysCommission ? { kind: 'succeeded', surplus } : { kind: 'succeeded', surplus, review: 'overpaid' };
}
