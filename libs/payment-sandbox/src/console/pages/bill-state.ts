import { minorOf } from '../../common/decimal.js';
import type { Html } from '../../common/html.js';
import { groupDigits } from '../../common/money.js';
import type { Bill, Callback, Payment } from '../../model/entities.js';
import { count, tag, type Tone } from './layout.js';

export function billState(bill: Bill, payments: readonly Payment[]): [text: string, tone: Tone] {
  const [paid, ...extraPayments] = payments.filter(({ status }) => status === 'SUCCESS');
  if (extraPayments.length > 0) return [`paid ${extraPayments.length + 1} times`, 'warn'];
  if (paid) return paidState(bill, paid);
  if (payments.some(({ status }) => status === 'NEW' || status === 'PROCESS')) return ['processing', 'warn'];
  return payments.length > 0 ? ['failed', 'bad'] : ['not paid yet', ''];
}

/** The payer's commission does not count as paid. */
function paidState(bill: Bill, payment: Payment): [text: string, tone: Tone] {
  if (payment.currency !== bill.currency) return [`paid in ${payment.currency}`, 'warn'];
  const paid = bill.payerPaysCommission ? payment.amountReceived : payment.amount;
  if (minorOf(paid) < minorOf(bill.amount)) return [`partly paid: ${groupDigits(paid)}`, 'bad'];
  return minorOf(paid) > minorOf(bill.amount) ? [`overpaid: ${groupDigits(paid)}`, 'warn'] : ['paid', 'good'];
}

export function callbackState({ state, tries }: Callback): [text: string, tone: Tone] {
  switch (state) {
    case 'delivered':
      return ['delivered', 'good'];
    case 'givenUp':
      return ['given up', 'bad'];
    case 'dropped':
      return ['dropped', 'warn'];
    case 'pending':
      return tries.length > 0 ? ['will be retried', 'warn'] : ['on its way', ''];
  }
}

export function callbacksTag(callbacks: readonly Callback[]): Html {
  if (callbacks.length === 0) return tag('none');
  const stuck = callbacks.map(callbackState).filter(([, tone]) => tone === 'bad' || tone === 'warn');
  if (stuck.length === 0) return tag(count(callbacks.length, 'postback'), 'good');
  const worst = stuck.find(([, tone]) => tone === 'bad') ?? stuck[0];
  return tag(`${stuck.length} of ${callbacks.length} failed: ${worst?.[0] ?? ''}`, worst?.[1]);
}
