import fc from 'fast-check';
import type { ReportedPayment } from '../../libs/payment-acceptance/src/domain/payment.js';

const amount = fc.oneof(
  fc.constantFrom('100.05', '100.04', '100.06', '0.00', '-100.05', '99999999.99', null),
  fc.integer({ min: -10_000_000, max: 10_000_000 }).map((minor) => (minor / 100).toFixed(2).replace('-0.00', '0.00')),
);

/** Any payment that the client can report. There are few ids, so that lists overlap. */
export const anyReported: fc.Arbitrary<ReportedPayment> = fc.record({
  paymentId: fc.constantFrom('p-1', 'p-2', 'p-3', 'p-4'),
  billId: fc.constantFrom('b-1', 'b-1', 'b-1', null, 'b-other'),
  status: fc.constantFrom('NEW', 'PROCESS', 'FAIL', 'SUCCESS', 'UNKNOWN'),
  statusText: fc.constantFrom('as sent', null),
  amount,
  amountReceived: amount,
  commission: fc.constantFrom('0.00', '2.00', null),
  currency: fc.constantFrom('RUB', 'RUB', 'RUB', 'USD', null),
  fromCard: fc.constantFrom('411111******1111', null),
  createdAtText: fc.constant(null),
  createdAt: fc.option(fc.date({ noInvalidDate: true })),
});
