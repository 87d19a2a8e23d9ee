import type { LockedBill } from './bill.js';
import {
  DecisionBuilder,
  JudgeContractError,
  type Decision,
  type DecisionInput,
  type KnownLedgerPayment,
} from './decision-builder.js';
import { parseAmount, type DecimalAmount } from './money.js';
import type {
  Judge,
  JudgedBill,
  LedgerPayment,
  PaymentStatus,
  ReportedPayment,
  ReviewReason,
  Verdict,
} from './payment.js';
import type { PaymentId } from './ids.js';
import { uuidFromName } from './uuid.js';

export { JudgeContractError, type BillReview, type Decision, type DecisionInput } from './decision-builder.js';

/** How many payments are decided and written at once; this takes some milliseconds. */
const PART_SIZE = 500;

/** An unknown status may mean anything: it ranks above those that mean nothing yet and below final ones. */
const STATUS_RANK: Readonly<Record<PaymentStatus, number>> = { NEW: 0, PROCESS: 1, UNKNOWN: 2, FAIL: 3, SUCCESS: 4 };

/**
 * Turns the service's list into changes of our ledger. Pure.
 *
 * | the ledger has                       | the service lists                     | what follows                                           |
 * | ------------------------------------ | ------------------------------------- | ------------------------------------------------------ |
 * | anything                             | nothing                               | nothing: absence proves nothing                        |
 * | nothing, or a lower status           | a payment of this bill                | it is kept, and the judge's verdict is taken           |
 * | the same status, without a verdict   | what the judge can decide now         | the verdict is taken, which is final                   |
 * | an unknown status                    | another one, or another amount        | it is kept, and the judge's verdict is taken           |
 * | FAIL                                 | only an unknown status                | a verdict of success, or of review, is taken           |
 * | FAIL, under review since             | FAIL                                  | it has failed                                          |
 * | SUCCESS, or accepted by an operator  | what contradicts it                   | review `payment-changed`, once for each change         |
 * | SUCCESS, or accepted by an operator  | what agrees again, while under review | review `payment-changed`: it can be accepted again     |
 * | the payment under another bill       | SUCCESS                               | review `payment-moved`                                 |
 * | anything                             | SUCCESS of another bill               | review `foreign-bill`                                  |
 *
 * A verdict of success for a cancelled order becomes the review `order-cancelled`.
 */
export function decide(input: DecisionInput): Decision {
  const { bill, known: knownPayments } = input;
  const rows = new Map<string, KnownLedgerPayment>(knownPayments.map((row) => [row.paymentId, row]));
  const closedChanges = new Map(knownPayments.map((row) => [row.paymentId, row.closedChanges ?? 0]));
  const builder = new DecisionBuilder(bill, input.firstPaymentId);
  const keep = (payment: LedgerPayment): void => {
    rows.set(payment.paymentId, payment);
    builder.keep(payment);
  };
  const changed = (payment: ReportedPayment): void => {
    const closed = closedChanges.get(payment.paymentId) ?? 0;
    builder.review('payment-changed', payment, closed > 0 ? `${changeOf(payment)}:${closed}` : changeOf(payment));
  };
  const listings = ownListings(input);
  const advanced = new Set<string>();
  for (const [payment, judgement] of judgeAll(input)) {
    const row = rows.get(payment.paymentId);
    // Nobody waits for the money of a cancelled order: a person decides.
    const verdict = input.cancelled && judgement.kind === 'succeeded' ? ORDER_CANCELLED : judgement;
    if (!isOwn(payment, bill)) {
      // The payment belongs to another bill, so it needs a person only if money arrived.
      if (payment.status === 'SUCCESS') builder.review('foreign-bill', payment);
    } else if (row && row.intentId !== bill.intentId) {
      if (payment.status === 'SUCCESS') builder.review('payment-moved', payment, changeOf(payment));
    } else if (row && isOtherUnknown(row, payment, listings.get(payment.paymentId))) {
      const occasion = uuidFromName(`${payment.statusText ?? ''} ${changeOf(payment)}`);
      if (row.status === 'UNKNOWN' || verdict.kind === 'succeeded') {
        keep({ ...payment, intentId: bill.intentId, contradiction: null, verdict: verdict.kind });
        builder.take(payment, verdict, occasion);
      } else if (verdict.kind === 'review') {
        keep({ ...payment, status: row.status, intentId: bill.intentId, contradiction: null, verdict: 'review' });
        builder.review(verdict.reason, payment, occasion);
      }
    } else if (row?.status === 'FAIL' && row.verdict === 'review' && payment.status === 'FAIL') {
      keep({ ...row, statusText: payment.statusText, verdict: 'failed' });
    } else if (
      !row ||
      STATUS_RANK[payment.status] > STATUS_RANK[row.status] ||
      (row.verdict === 'pending' && verdict.kind !== 'pending')
    ) {
      // If the service agrees with a payment that an operator has already accepted, there is no second event.
      const accepted = row?.verdict === 'succeeded';
      const kind = accepted ? 'succeeded' : verdict.kind;
      keep({ ...payment, intentId: bill.intentId, contradiction: null, verdict: kind });
      advanced.add(payment.paymentId);
      if (!accepted) builder.take(payment, verdict);
      else if (judgement.kind === 'review' || (payment.status === 'SUCCESS' && differs(row, payment))) changed(payment);
    }
  }
  for (const [paymentId, entries] of listings) {
    const row = rows.get(paymentId);
    const last = entries.at(-1);
    if (!row || !last || row.intentId !== bill.intentId || (row.status !== 'SUCCESS' && row.verdict !== 'succeeded'))
      continue;
    const contrary = entries.filter((payment) => contradicts(row, payment));
    const contradiction = contrary.length === 0 ? null : uuidFromName(contrary.map(changeOf).join(' '));
    const statusText = row.status === 'SUCCESS' ? last.statusText : row.statusText;
    if (contradiction === row.contradiction && statusText === row.statusText) continue;
    keep({ ...row, statusText, contradiction });
    // If the payment has advanced just now, its earlier entries were steps on the way.
    const news = advanced.has(paymentId) ? contrary.filter(({ status }) => status === row.status) : contrary;
    for (const payment of news) changed(payment);
    // A review has reported that the payment was listed differently; report also that it can be accepted again.
    if (contrary.length === 0 && row.verdict === 'review') changed(last);
  }
  if (input.isPartial) return builder.decision();
  const { occasion, isOpen = false } = input.unreadable ?? {};
  if (occasion !== undefined) builder.review('unreadable-payment', null, occasion);
  const ownPayments = [...rows.values()].filter((row) => row.intentId === bill.intentId);
  return builder.decisionAfterCheck(ownPayments, input, isOpen || input.isAnnounced);
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
  knownPayments: readonly LedgerPayment[],
  accepted: AcceptedPayment,
): Decision {
  const builder = new DecisionBuilder(bill, firstPaymentId);
  const row = knownPayments.find(({ paymentId }) => paymentId === accepted.paymentId) ?? {
    ...UNLISTED_PAYMENT,
    paymentId: accepted.paymentId,
    intentId: bill.intentId,
  };
  const { amount, listed } = accepted;
  const isCorrected = listed && row.status === 'SUCCESS' && differs(row, listed);
  // If the operator accepts a corrected listing, later lists are compared with it. A review keeps no commission.
  const corrected = isCorrected && {
    amount: listed.amount,
    amountReceived: listed.amountReceived,
    currency: listed.currency,
    commission: null,
    contradiction: null,
  };
  const shown = { ...row, ...corrected };
  builder.keep({
    ...shown,
    ...(shown.amount === null && { amount, currency: bill.currency }),
    // The service already lists it like this; only a different listing contradicts the acceptance.
    ...(shown.amount === null && row.status === 'SUCCESS' && { contradiction: uuidFromName(changeOf(shown)) }),
    verdict: 'succeeded',
  });
  const counted = { amount, currency: bill.currency };
  const isForeign = shown.currency !== null && shown.currency !== bill.currency;
  // The received amount and the commission are in the payment's currency, which the event does not name.
  const unknown = isForeign && { amountReceived: null, commission: null };
  builder.accept({ ...shown, billId: bill.billId, createdAt: null, ...counted, ...unknown }, accepted.operator);
  return builder.decision();
}

const ORDER_CANCELLED: Verdict = { kind: 'review', reason: 'order-cancelled' };

/** What an operator accepts. The amount is in the bill's currency. */
export interface AcceptedPayment {
  readonly paymentId: PaymentId;
  readonly amount: DecimalAmount;
  /** What the service listed when the review was opened; absent if the review is about the whole bill. */
  readonly listed?: Pick<ReportedPayment, 'amount' | 'amountReceived' | 'currency'> | undefined;
  readonly operator: string;
}

const UNLISTED_PAYMENT = {
  status: 'UNKNOWN',
  statusText: null,
  amount: null,
  amountReceived: null,
  commission: null,
  currency: null,
  fromCard: null,
  createdAtText: null,
  contradiction: null,
} as const;

/** The list's entries for each payment of the bill, sorted: the last entry counts, and is a SUCCESS if there is one. */
function ownListings({ bill, listed }: DecisionInput): ReadonlyMap<string, ReportedPayment[]> {
  const entries = new Map<string, ReportedPayment[]>();
  for (const payment of sortPayments(listed.filter((each) => isOwn(each, bill)))) {
    const listings = entries.get(payment.paymentId);
    if (listings) listings.push(payment);
    else entries.set(payment.paymentId, [payment]);
  }
  return entries;
}

function isOwn({ billId }: ReportedPayment, bill: LockedBill): boolean {
  return billId === null || billId === bill.billId;
}

/**
 * Splits a long list into parts that are decided one after the other, so that none takes long. The last part, which
 * ends the check, has whatever may pay the bill, and each payment that is listed more than once, since all entries of a
 * payment are decided together.
 */
export function splitIntoParts(
  listed: readonly ReportedPayment[],
  size = PART_SIZE,
): { early: ReportedPayment[][]; last: ReportedPayment[] } {
  const ordered = sortPayments(listed);
  if (listed.length <= size) return { early: [], last: ordered };
  const counts = new Map<string, number>();
  for (const { paymentId } of listed) counts.set(paymentId, (counts.get(paymentId) ?? 0) + 1);
  const isEarly = ({ paymentId, status }: ReportedPayment): boolean =>
    status !== 'SUCCESS' && status !== 'UNKNOWN' && counts.get(paymentId) === 1;
  const single = ordered.filter(isEarly);
  const early: ReportedPayment[][] = [];
  for (let first = 0; first < single.length; first += size) early.push(single.slice(first, first + size));
  return { early, last: ordered.filter((payment) => !isEarly(payment)) };
}

/** Shows the judge the whole list, once. Each part gets its verdicts, or none if the judge broke its contract. */
export function judgeOnce(judge: Judge, listed: readonly ReportedPayment[]): Judge {
  let verdicts: ReadonlyMap<ReportedPayment, Verdict | undefined> | undefined;
  return (bill, part) => {
    if (!verdicts) {
      const verdictList = verdictsOf(judge, bill, listed);
      const isUsable = verdictList.length === listed.length;
      verdicts = new Map(isUsable ? listed.map((payment, index) => [payment, verdictList[index]]) : []);
    }
    return part.flatMap((payment) => verdicts?.get(payment) ?? []);
  };
}

/** By the rank of the status (SUCCESS last), then by age. */
export function sortPayments(listed: readonly ReportedPayment[]): ReportedPayment[] {
  return [...listed].sort(
    (a, b) =>
      STATUS_RANK[a.status] - STATUS_RANK[b.status] ||
      (a.createdAt?.getTime() ?? 0) - (b.createdAt?.getTime() ?? 0) ||
      compareTexts(a.paymentId, b.paymentId) ||
      compareTexts(changeOf(a), changeOf(b)),
  );
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const ALLOWED_VERDICTS: Readonly<Record<PaymentStatus, readonly Verdict['kind'][]>> = {
  NEW: ['pending'],
  PROCESS: ['pending'],
  UNKNOWN: ['pending', 'failed', 'succeeded', 'review'],
  FAIL: ['failed'],
  SUCCESS: ['succeeded', 'review'],
};

/**
 * Whether a payment that has not counted is now listed only under unknown statuses, and with another status, amount or
 * currency than before: it may mean anything, whatever was decided earlier.
 */
function isOtherUnknown(
  row: LedgerPayment,
  payment: ReportedPayment,
  entries: readonly ReportedPayment[] = [],
): boolean {
  if (row.verdict === 'succeeded' || (row.status !== 'UNKNOWN' && row.status !== 'FAIL')) return false;
  if (entries.at(-1) !== payment || !entries.every(({ status }) => status === 'UNKNOWN')) return false;
  return row.statusText !== payment.statusText || differs(row, payment);
}

/** Listed payments with their verdicts, sorted so that events come in a stable order. */
function judgeAll({ bill, listed, judge }: DecisionInput): [ReportedPayment, Verdict][] {
  const payments = sortPayments(listed);
  const verdicts = verdictsOf(judge, bill, payments);
  return payments.map((payment, index) => {
    const verdict = verdicts[index];
    const isUsable =
      verdict && verdicts.length === payments.length && ALLOWED_VERDICTS[payment.status].includes(verdict.kind);
    if (!isUsable || !isWritable(verdict)) {
      throw new JudgeContractError(
        `The judge gave no usable verdict for ${payment.status} payment ${payment.paymentId}. It must return one verdict per ` +
          `payment, in their order; for this status: ${ALLOWED_VERDICTS[payment.status].join(' or ')}.`,
      );
    }
    return [payment, verdict];
  });
}

function verdictsOf(judge: Judge, bill: JudgedBill, payments: readonly ReportedPayment[]): readonly Verdict[] {
  const verdicts: unknown = judge(bill, payments);
  if (verdicts instanceof Promise) {
    // It may reject, and nobody else waits for it.
    verdicts.catch(() => undefined);
    throw new JudgeContractError('The judge returned a promise. It must return its verdicts synchronously.');
  }
  return Array.isArray(verdicts) ? (verdicts as Verdict[]) : [];
}

/** Whether a database accepts the host's verdict, which is written together with those on other bills. */
function isWritable(verdict: Verdict): boolean {
  if (verdict.kind === 'review') return isReason(verdict.reason);
  if (verdict.kind !== 'succeeded') return true;
  const { surplus, review } = verdict;
  return (surplus === undefined || isAmount(surplus)) && (review === undefined || isReason(review));
}

/** Printable characters, no lone surrogates. */
const REASON_PATTERN = /^[^\p{C}\p{Zl}\p{Zp}]{1,100}$/u;

function isReason(reason: unknown): boolean {
  return typeof reason === 'string' && REASON_PATTERN.test(reason);
}

function isAmount(amount: unknown): boolean {
  return typeof amount === 'string' && parseAmount(amount) === amount;
}

/** If an operator accepted the payment before the service did, only a FAIL contradicts that. */
function contradicts(row: LedgerPayment, payment: ReportedPayment): boolean {
  if (row.status !== 'SUCCESS') return payment.status === 'FAIL';
  return payment.status !== 'SUCCESS' || differs(row, payment);
}

function differs(
  row: Pick<LedgerPayment, 'amount' | 'currency'>,
  { amount, currency }: Pick<ReportedPayment, 'amount' | 'currency'>,
): boolean {
  return row.amount !== amount || row.currency !== currency;
}

function changeOf({ status, amount, currency }: Pick<ReportedPayment, 'status' | 'amount' | 'currency'>): string {
  return `${status}:${amount ?? ''}:${currency ?? ''}`;
}
