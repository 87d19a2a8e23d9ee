import { expect, test } from '@jest/globals';
import type { BillId, IntentId } from './ids.js';
import type { LedgerPayment } from './payment.js';

test('an id is a string that the compiler keeps apart from ids of other kinds', () => {
  const intentId: IntentId = '01a1fb67-1801-7000-8000-000000000000';
  // @ts-expect-error the service's id of a bill is not ours
  const billId: BillId = intentId;
  const payment: Pick<LedgerPayment, 'intentId' | 'paymentId'> = { intentId, paymentId: 'p-1' };
  // @ts-expect-error nor is a payment's
  payment.intentId satisfies BillId;
  const text: string = payment.intentId;
  expect([billId, text]).toEqual([intentId, intentId]);
});
