import { decide, type Decision, type DecisionInput } from '../../libs/payment-acceptance/src/domain/decide.js';
import { defaultJudge } from '../../libs/payment-acceptance/src/domain/judge.js';
import type { LedgerPayment, ReportedPayment } from '../../libs/payment-acceptance/src/domain/payment.js';
import { lockedBill } from './units.js';

/** Decides on an open bill of 100.05 RUB that never expires, unless the test says otherwise. */
export const run = (more: Partial<DecisionInput>): Decision =>
  decide({
    bill: lockedBill(),
    firstPaymentId: null,
    cancelled: false,
    known: [],
    listed: [],
    isPartial: false,
    isAnnounced: false,
    judge: defaultJudge,
    endOfLife: Infinity,
    horizon: Infinity,
    ...more,
  });

/** A payment in the ledger, by default of this bill. */
export const kept = (payment: ReportedPayment, intentId = lockedBill().intentId): LedgerPayment => ({
  ...payment,
  intentId,
  contradiction: null,
  verdict: payment.status === 'SUCCESS' ? 'succeeded' : payment.status === 'FAIL' ? 'failed' : 'pending',
});

export const names = ({ events }: Decision) => events.map(({ name }) => name);
export const reasons = ({ reviews }: Decision) => reviews.map(({ reason }) => reason);
