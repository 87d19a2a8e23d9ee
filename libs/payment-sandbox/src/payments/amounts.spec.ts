import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { formatMinor, minorOf } from '../common/decimal.js';
import { amountDue, MAX_MINOR, splitPaid } from './amounts.js';

const billed = fc.bigInt(1n, MAX_MINOR).map(formatMinor);
const percent = fc.integer({ min: 0, max: 99_9999 }).map((units) => units / 10_000);

describe('commission', () => {
  test('a commission borne by the payer is added: the shop receives the billed amount', () => {
    fc.assert(
      fc.property(billed, percent, (amount, commissionPercent) => {
        const due = amountDue({ amount, payerPaysCommission: true }, commissionPercent);
        const { amountReceived, commission } = splitPaid(formatMinor(due), true, commissionPercent);
        expect(amountReceived).toBe(amount);
        expect(minorOf(commission)).toBe(due - minorOf(amount));
      }),
    );
  });

  test('a commission borne by the shop is deducted: the payer pays the billed amount', () => {
    fc.assert(
      fc.property(billed, percent, (amount, commissionPercent) => {
        expect(amountDue({ amount, payerPaysCommission: false }, commissionPercent)).toBe(minorOf(amount));
        const { amountReceived, commission } = splitPaid(amount, false, commissionPercent);
        expect(minorOf(amountReceived) + minorOf(commission)).toBe(minorOf(amount));
        expect(minorOf(commission)).toBeGreaterThanOrEqual(0n);
      }),
    );
  });

  test('a commission is rounded half up', () => {
    expect(splitPaid('100.05', false, 3.5)).toEqual({ amountReceived: '96.55', commission: '3.50' });
    expect(splitPaid('0.50', false, 1)).toEqual({ amountReceived: '0.49', commission: '0.01' });
    expect(splitPaid('0.49', false, 1)).toEqual({ amountReceived: '0.49', commission: '0.00' });
  });
});
