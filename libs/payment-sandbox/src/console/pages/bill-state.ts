import { minorOf } from '../../common/decimal.js';
import { groupDigits, type Html } from '../../common/html.js';
import { type Bill, type Callback, isFinal, type Payment } from '../../model/entities.js';
import { count, tag, type Tone } from './layout.js';

export function billState(bill: Bill, payments: readonly Payment[]): [text: string, tone: Tone] {
  const [paid, ...extraPayments] = payments.filter(({ status }) => status === 'SUCCESS');
  if (extraPayments.length > 0) return [`paid ${extraPayments.length + 1} times`, 'warn'];
  if (paid) return paidState(bill, paid);
  if (payments.some((payment) => !isFinal(payment))) return ['processing', 'warn'];
  return payments.length > 0 ? ['failed', 'bad'] : ['not paid yet', ''];
}

/** The payer's commission does not count as paid. */
function paidState(bill: Bill, payment: Payment): [text: string, tone: Tone] {
  if (payment.currency !== bill.currency) return [`paid in ${payment.currency}`, 'warn'];
  const paid = bill.payerPaysCommission ? payment.amountReceived : payment.amount;
  if (minorOf(paid) < minorOf(bill.amount)) return [`partly paid: ${groupDigits(paid)}`, 'bad'];
  return minorOf(paid) > minorOf(bill.amount) ? [`overpaid: ${groupDigits(paid)}`, 'warn'] : ['paid', 'good'];
}

const CALLBACK_STATES: Readonly<Record<Callback['state'], [text: string, tone: Tone]>> = {
  delivered: ['delivered', 'good'],
  givenUp: ['given up', 'bad'],
  dropped: ['dropped', 'warn'],
  pending: ['on its way', ''],
};

export function callbackState({ state, tries }: Callback): [text: string, tone: Tone] {
  return state === 'pending' && tries.length > 0 ? ['will be retried', 'warn'] : CALLBACK_STATES[state];
}

export function callbacksTag(callbacks: readonly Callback[]): Html {
  if (callbacks.length === 0) return tag('none');
  const stuck = callbacks.map(callbackState).filter(([, tone]) => tone === 'bad' || tone === 'warn');
  if (stuck.length === 0) return tag(count(callbacks.length, 'postback'), 'good');
  const worst = stuck.find(([, tone]) => tone === 'bad') ?? stuck[0];
  return tag(`${stuck.length} of ${callbacks.length} failed: ${worst?.[0] ?? ''}`, worst?.[1]);
}
