import { expect, test } from '@jest/globals';
import type { Bill, Payment } from '../../model/entities.js';
import { billState } from './bill-state.js';

const bill = (payerPaysCommission = false) => ({ amount: '1000.00', currency: 'RUB', payerPaysCommission }) as Bill;
const payment = (status: Payment['status'], amount = '1000.00', more: Partial<Payment> = {}) =>
  ({ status, amount, amountReceived: amount, currency: 'RUB', ...more }) as Payment;

test.each<[string, string, Payment[], boolean?]>([
  ['not paid yet', '', []],
  ['processing', 'warn', [payment('FAIL'), payment('PROCESS')]],
  ['failed', 'bad', [payment('FAIL')]],
  ['paid', 'good', [payment('FAIL'), payment('SUCCESS')]],
  ['paid', 'good', [payment('SUCCESS', '1000.00', { amountReceived: '965.00' })]],
  ['paid', 'good', [payment('SUCCESS', '1035.00', { amountReceived: '1000.00' })], true],
  ['partly paid: 500.00', 'bad', [payment('SUCCESS', '500.00')]],
  ['partly paid: 999.99', 'bad', [payment('SUCCESS', '1034.99', { amountReceived: '999.99' })], true],
  ['overpaid: 1\u202f001.00', 'warn', [payment('SUCCESS', '1001.00')]],
  ['paid in EUR', 'warn', [payment('SUCCESS', '1000.00', { currency: 'EUR' })]],
  ['paid 2 times', 'warn', [payment('SUCCESS', '500.00'), payment('SUCCESS', '500.00')]],
])('a bill is shown as %j, with the tone %j', (text, tone, payments, payerPaysCommission = false) => {
  expect(billState(bill(payerPaysCommission), payments)).toEqual([text, tone]);
});
