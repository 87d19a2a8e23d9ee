import type { LockedBill } from './bill.js';
import { DecisionBuilder, JudgeContractError, type Decision, type DecisionInput } from './decision-builder.js';
import { parseAmount, type DecimalAmount } from './money.js';
import type { Judge, LedgerPayment, PaymentStatus, ReportedPayment, ReviewReason, Verdict } from './payment.js';
import type { PaymentId } from './ids.js';

export { JudgeContractError, type Decision, type DecisionInput } from './decision-builder.js';

const RANK: Readonly<Record<PaymentStatus, number>> = { UNKNOWN: 0, NEW: 1, PROCESS: 2, FAIL: 3, SUCCESS: 4 };

/**
 * Turns the service's list into changes of our ledger. Pure. Statuses only advance; a payment gets one final verdict; an
 * entry that contradicts a SUCCESS payment opens a review and changes nothing; absence from the list proves nothing.
 */
export function decide(input: DecisionInput): Decision {
  const { bill, known } = input;
  const rows = new Map(known.map((row) => [row.paymentId, row]));
  const builder = new DecisionBuilder(bill, input.firstPaymentId);
  const keep = (payment: LedgerPayment): void => {
    rows.set(payment.paymentId, payment);
    builder.changedPayments.set(payment.paymentId, payment);
  };
  for (const [payment, verdict] of judged(input)) {
    const row = rows.get(payment.paymentId);
    if (payment.billId !== null && payment.billId !== bill.billId) {
      // The payment belongs to another bill, so it needs a person only if money arrived.
      if (payment.status === 'SUCCESS') builder.review('foreign-bill', payment);
    } else if (row && row.intentId !== bill.intentId) {
      if (payment.status === 'SUCCESS') builder.review('payment-moved', payment, changeOf(payment));
    } else if (row?.status === 'SUCCESS') {
      if (contradicts(row, payment)) builder.review('payment-changed', payment, changeOf(payment));
    } else if (row?.verdict === 'succeeded') {
      // An operator accepted it before the service did. If the service agrees later, there is no second event.
      if (RANK[payment.status] <= RANK[row.status]) {
        // The operator accepted a failed payment, and the service still lists it as failed.
        if (payment.status === 'FAIL') builder.review('payment-changed', payment, changeOf(payment));
        continue;
      }
      keep({ ...payment, intentId: bill.intentId, verdict: 'succeeded' });
      if (verdict.kind === 'failed' || verdict.kind === 'review') {
        builder.review('payment-changed', payment, changeOf(payment));
      }
    } else if (!row || RANK[payment.status] > RANK[row.status]) {
      keep({ ...payment, intentId: bill.intentId, verdict: verdict.kind });
      builder.take(payment, verdict);
    }
  }
  const last = lastListings(input);
  for (const row of rows.values()) {
    const payment = last.get(row.paymentId);
    if (row.status !== 'SUCCESS' || row.intentId !== bill.intentId) continue;
    if (!payment || payment.statusText === row.statusText) continue;
    keep({ ...row, statusText: payment.statusText });
    // It was listed differently in between, and a review said so. Now it can be accepted again, so say that, too.
    if (row.verdict === 'review' && !contradicts(row, payment)) {
      builder.review('payment-changed', payment, changeOf(payment));
    }
  }
  if (input.unreadable !== undefined) builder.review('unreadable-payment', null, input.unreadable);
  const own = [...rows.values()].filter((row) => row.intentId === bill.intentId);
  return builder.decisionAfterCheck(own, input);
}

/**
 * Opens a review of a bill whose payments cannot be listed, for the given reason.
 * @param occasion distinguishes the review from earlier ones; `undefined` opens none
 */
export function decideUnlistable(bill: LockedBill, reason: ReviewReason, occasion: string | undefined): Decision {
  const builder = new DecisionBuilder(bill, null);
  if (occasion !== undefined) builder.review(reason, null, occasion);
  return builder.decision();
}

/** Decides on a payment that an operator accepts: it gets the event that the judge withheld. */
export function decideAccepted(
  bill: LockedBill,
  firstPaymentId: PaymentId | null,
  known: readonly LedgerPayment[],
  accepted: AcceptedPayment,
): Decision {
  const builder = new DecisionBuilder(bill, firstPaymentId);
  const row = known.find(({ paymentId }) => paymentId === accepted.paymentId) ?? {
    ...NOTHING_LISTED,
    paymentId: accepted.paymentId,
    intentId: bill.intentId,
  };
  builder.changedPayments.set(row.paymentId, { ...row, verdict: 'succeeded' });
  builder.accept({ ...row, billId: bill.billId, createdAt: null, amount: accepted.amount }, accepted.operator);
  return builder.decision();
}

/** What an operator accepts. The amount is in the bill's currency. */
export interface AcceptedPayment {
  readonly paymentId: PaymentId;
  readonly amount: DecimalAmount;
  readonly operator: string;
}

const NOTHING_LISTED = {
  status: 'UNKNOWN',
  statusText: null,
  amount: null,
  amountReceived: null,
  commission: null,
  currency: null,
  fromCard: null,
  createdAtText: null,
} as const;

/** The entry that counts for each payment of the bill where the list has several: SUCCESS if there is one. */
function lastListings({ bill, listed }: DecisionInput): ReadonlyMap<string, ReportedPayment> {
  const own = listed.filter(({ billId }) => billId === null || billId === bill.billId);
  return new Map(inOrder(own).map((payment) => [payment.paymentId, payment]));
}

/** Failures first, then by age. */
function inOrder(listed: readonly ReportedPayment[]): ReportedPayment[] {
  return [...listed].sort(
    (a, b) =>
      RANK[a.status] - RANK[b.status] ||
      (a.createdAt?.getTime() ?? 0) - (b.createdAt?.getTime() ?? 0) ||
      (a.paymentId < b.paymentId ? -1 : 1),
  );
}

/** Listed payments with their verdicts, so that events come in a stable order. */
function judged({ bill, listed, judge }: DecisionInput): [ReportedPayment, Verdict][] {
  const payments = inOrder(listed);
  const verdicts = verdictsOf(judge, bill, payments);
  return payments.map((payment, index) => {
    const verdict = verdicts[index];
    const allowed = payment.status === 'SUCCESS' ? ['succeeded', 'review'] : ['pending', 'failed'];
    const final = verdict?.kind === 'failed';
    const isUsable = verdict && verdicts.length === payments.length && allowed.includes(verdict.kind);
    if (!isUsable || !isWritable(verdict)) {
      throw new JudgeContractError(
        `The judge gave no usable verdict on ${payment.status} payment ${payment.paymentId}.`,
      );
    }
    if (final !== (payment.status === 'FAIL')) {
      throw new JudgeContractError(`The judge called ${payment.status} payment ${payment.paymentId} ${verdict.kind}.`);
    }
    return [payment, verdict];
  });
}

function verdictsOf(judge: Judge, bill: LockedBill, payments: readonly ReportedPayment[]): readonly Verdict[] {
  const verdicts: unknown = judge(bill, payments);
  return Array.isArray(verdicts) ? (verdicts as Verdict[]) : [];
}

/** Whether a database accepts it: a judge is the host's code, and its verdict is written together with other bills. */
function isWritable(verdict: Verdict): boolean {
  if (verdict.kind === 'review') return isReason(verdict.reason);
  if (verdict.kind !== 'succeeded') return true;
  const { surplus, review } = verdict;
  return (surplus === undefined || isAmount(surplus)) && (review === undefined || isReason(review));
}

/** Printable characters, no lone surrogates. */
const REASON = /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u;

function isReason(reason: unknown): boolean {
  return typeof reason === 'string' && REASON.test(reason);
}

function isAmount(amount: unknown): boolean {
  return typeof amount === 'string' && parseAmount(amount) === amount;
}

function contradicts(row: LedgerPayment, payment: ReportedPayment): boolean {
  return payment.status !== 'SUCCESS' || row.amount !== payment.amount || row.currency !== payment.currency;
}

function changeOf({ status, amount, currency }: ReportedPayment): string {
  return `${status}:${amount ?? ''}:${currency ?? ''}`;
}
