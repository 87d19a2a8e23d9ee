import type { DecimalAmount } from '../common/money.js';
import { uuidFromName } from '../common/random.js';
import type { Judge, PaymentStatus, ReportedPayment, ReviewReason, Verdict } from '../common/payment.js';
import type { EventData, PaymentEventName } from '../events/payment-events.js';
import { paymentEvent } from '../events/payment-events.js';
import type { BillState } from '../storage/bill.store.js';
import type { LedgerPayment, LockedBill, NewEvent, NewReview } from '../storage/settlement.store.js';

/** What a list of payments changes, all of it written in one transaction. */
export interface Decision {
  readonly state: BillState;
  /** The payments that are new or have advanced. */
  readonly payments: readonly LedgerPayment[];
  /** All payments of the bill as they are then. */
  readonly ledger: readonly LedgerPayment[];
  readonly events: readonly NewEvent[];
  readonly reviews: readonly NewReview[];
  /** The payment that pays the order for the first time, if any. */
  readonly firstPaymentId: string | null;
}

export interface DecisionInput {
  readonly bill: LockedBill;
  /** The payment that paid the order before, if any. */
  readonly firstPaymentId: string | null;
  readonly known: readonly LedgerPayment[];
  readonly listed: readonly ReportedPayment[];
  readonly judge: Judge;
  /** From this moment on, in epoch milliseconds, an unpaid bill expires. */
  readonly endOfLife: number;
  /** Until this moment a bill is looked at that a running payment keeps open. */
  readonly horizon: number;
}

/** The judge does not keep its contract; the check is repeated, so that nothing is settled on a guess. */
export class JudgeContractError extends Error {}

const RANK: Readonly<Record<PaymentStatus, number>> = { UNKNOWN: 0, NEW: 1, PROCESS: 2, FAIL: 3, SUCCESS: 4 };

/**
 * Turns the service's list into changes of our ledger. Pure. Statuses only advance; a payment gets one final verdict;
 * what contradicts a SUCCESS payment opens a review and changes nothing; absence from the list proves nothing.
 */
export function decide(input: DecisionInput): Decision {
  const { bill, known } = input;
  const rows = new Map(known.map((row) => [row.paymentId, row]));
  const facts = new Facts(input);
  for (const [payment, verdict] of judged(input)) {
    const row = rows.get(payment.paymentId);
    if (payment.billId !== null && payment.billId !== bill.billId) {
      // Not a payment of this bill, whatever the list says: only money that arrived makes it a person's business.
      if (payment.status === 'SUCCESS') facts.review('foreign-bill', payment);
    } else if (row && row.billId !== bill.id) {
      facts.review('payment-moved', payment);
    } else if (row?.status === 'SUCCESS') {
      if (contradicts(row, payment)) facts.review('payment-changed', payment, changeOf(payment));
    } else if (row?.verdict === 'succeeded') {
      // An operator has accepted it before the service did: what the service says now is kept, and told nobody again.
      facts.written.set(payment.paymentId, { ...payment, billId: bill.id, verdict: 'succeeded' });
    } else if (!row || RANK[payment.status] > RANK[row.status]) {
      const next: LedgerPayment = { ...payment, billId: bill.id, verdict: verdict.kind };
      rows.set(payment.paymentId, next);
      facts.written.set(payment.paymentId, next);
      facts.take(payment, verdict);
    }
  }
  return facts.decision([...rows.values()].filter((row) => row.billId === bill.id));
}

/** The bill's list of payments cannot be had, for the reason given: a person has to look. */
export function decideUnlistable(bill: LockedBill, reason: ReviewReason): Decision {
  const facts = new Facts({
    bill,
    firstPaymentId: null,
    known: [],
    listed: [],
    judge: () => [],
    endOfLife: Infinity,
    horizon: Infinity,
  });
  facts.review(reason, null);
  return facts.decision([]);
}

/** A payment that an operator has accepted: it gets the event that the judge did not give it. */
export function decideAccepted(
  bill: LockedBill,
  firstPaymentId: string | null,
  known: readonly LedgerPayment[],
  accepted: AcceptedPayment,
): Decision {
  const endOfLife = Infinity;
  const facts = new Facts({ bill, firstPaymentId, known, listed: [], judge: () => [], endOfLife, horizon: endOfLife });
  const row = known.find(({ paymentId }) => paymentId === accepted.paymentId) ?? {
    ...NOTHING_LISTED,
    paymentId: accepted.paymentId,
    billId: bill.id,
  };
  facts.written.set(row.paymentId, { ...row, verdict: 'succeeded' });
  facts.accept({ ...row, billId: bill.billId, createdAt: null, amount: accepted.amount }, accepted.operator);
  return facts.decision(known.filter(({ billId }) => billId === bill.id));
}

/** What an operator accepts: the amount counts in the bill's currency. */
export interface AcceptedPayment {
  readonly paymentId: string;
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

/** Listed payments with their verdicts: failures first, then by age, so that events come in a stable order. */
function judged({ bill, listed, judge }: DecisionInput): [ReportedPayment, Verdict][] {
  const payments = [...listed].sort(
    (a, b) =>
      RANK[a.status] - RANK[b.status] ||
      (a.createdAt?.getTime() ?? 0) - (b.createdAt?.getTime() ?? 0) ||
      (a.paymentId < b.paymentId ? -1 : 1),
  );
  const verdicts = judge(bill, payments);
  return payments.map((payment, index) => {
    const verdict = verdicts[index];
    const allowed = payment.status === 'SUCCESS' ? ['succeeded', 'review'] : ['pending', 'failed'];
    const final = verdict?.kind === 'failed';
    if (!verdict || verdicts.length !== payments.length || !allowed.includes(verdict.kind)) {
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

/** An unknown status may be any, so it is not taken for an end. */
function isRunning({ status }: LedgerPayment): boolean {
  return status === 'NEW' || status === 'PROCESS' || status === 'UNKNOWN';
}

function contradicts(row: LedgerPayment, payment: ReportedPayment): boolean {
  return payment.status !== 'SUCCESS' || row.amount !== payment.amount || row.currency !== payment.currency;
}

function changeOf({ status, amount, currency }: ReportedPayment): string {
  return `${status}:${amount ?? ''}:${currency ?? ''}`;
}

/** Collects the consequences of one list. */
class Facts {
  readonly written = new Map<string, LedgerPayment>();
  private readonly events: { name: PaymentEventName; key: string; data: (state: BillState) => object }[] = [];
  private readonly reviews: NewReview[] = [];
  private firstPaymentId: string | null = null;
  private succeeded = false;

  constructor(private readonly input: DecisionInput) {}

  take(payment: ReportedPayment, verdict: Verdict): void {
    switch (verdict.kind) {
      case 'pending':
        return;
      case 'failed':
        this.event('payment.failed', payment.paymentId, (state) => ({
          ...this.outcome('payment.failed', payment, state),
          orderPaid: (this.input.firstPaymentId ?? this.firstPaymentId) !== null,
        }));
        return;
      case 'review':
        this.review(verdict.reason, payment);
        return;
      case 'succeeded':
        this.succeed(payment, verdict);
    }
  }

  /** Opens a review of a payment, or of the bill as a whole. */
  review(reason: ReviewReason, payment: ReportedPayment | null, occasion = ''): void {
    const { bill } = this.input;
    const key = [reason, bill.shop, payment?.paymentId ?? bill.id, occasion].filter(Boolean).join(':');
    const id = uuidFromName(`review:${key}`);
    const { paymentId = null, amount = null, amountReceived = null, fromCard = null } = payment ?? {};
    const detail = {
      billed: { amount: bill.amount, currency: bill.currency },
      ...(payment && {
        listed: {
          status: payment.statusText ?? payment.status,
          amount,
          amountReceived,
          currency: payment.currency,
          billId: payment.billId,
        },
      }),
    };
    this.reviews.push({ id, key, paymentId, reason, detail });
    this.event('payment.review', key, (state) => ({
      ...this.common('payment.review', key, state),
      reviewId: id,
      reason,
      paymentId,
      amount,
      amountReceived,
      fromCard,
    }));
  }

  decision(rows: readonly LedgerPayment[]): Decision {
    const state = this.stateAfter(rows);
    this.reviewUnfinished(rows, state);
    if (state === 'EXPIRED' && this.input.bill.state === 'OPEN') {
      this.event('bill.expired', this.input.bill.id, () => this.common('bill.expired', this.input.bill.id, state));
    }
    return {
      state,
      payments: [...this.written.values()],
      ledger: rows,
      reviews: this.reviews,
      firstPaymentId: this.firstPaymentId,
      events: this.events.map(({ name, key, data }) => ({
        id: this.eventId(name, key),
        key: this.eventKey(name, key),
        name,
        payload: data(state),
      })),
    };
  }

  /** What is neither paid nor failed when the bill's time is over is a person's business: money may sit there unseen. */
  private reviewUnfinished(rows: readonly LedgerPayment[], state: BillState): void {
    const { bill, endOfLife, horizon } = this.input;
    const now = bill.now.getTime();
    if (state !== 'OPEN' || now < endOfLife) return;
    for (const row of rows) {
      const listed = { ...row, billId: bill.billId, createdAt: null };
      if (row.status === 'UNKNOWN') this.review('unknown-status', listed);
      else if (now >= horizon && isRunning(row)) this.review('unfinished', listed);
    }
  }

  accept(payment: ReportedPayment, operator: string): void {
    this.succeed(payment, { kind: 'succeeded' }, { acceptedBy: operator });
  }

  private succeed(
    payment: ReportedPayment,
    verdict: Extract<Verdict, { kind: 'succeeded' }>,
    acceptance: { readonly acceptedBy?: string } = {},
  ): void {
    const firstForOrder = this.input.firstPaymentId === null && this.firstPaymentId === null;
    if (firstForOrder) this.firstPaymentId = payment.paymentId;
    this.succeeded = true;
    const { amount } = payment;
    if (amount === null)
      throw new JudgeContractError(`The judge accepted payment ${payment.paymentId} without an amount.`);
    this.event('payment.succeeded', payment.paymentId, (state) => ({
      ...this.outcome('payment.succeeded', payment, state),
      amount,
      firstForOrder,
      ...(verdict.surplus !== undefined && { surplus: verdict.surplus }),
      ...acceptance,
    }));
    if (verdict.review !== undefined) this.review(verdict.review, payment);
    if (!firstForOrder) this.review('second-payment', payment);
  }

  private stateAfter(rows: readonly LedgerPayment[]): BillState {
    const { bill, endOfLife } = this.input;
    if (this.succeeded) return 'PAID';
    return bill.state === 'OPEN' && !rows.some(isRunning) && bill.now.getTime() >= endOfLife ? 'EXPIRED' : bill.state;
  }

  private event<Name extends PaymentEventName>(
    name: Name,
    key: string,
    data: (state: BillState) => EventData<Name>,
  ): void {
    this.events.push({ name, key, data: (state) => paymentEvent(name, data(state)) });
  }

  private outcome(name: PaymentEventName, payment: ReportedPayment, state: BillState) {
    const { paymentId, amount, amountReceived, commission, fromCard } = payment;
    return {
      ...this.common(name, paymentId, state),
      paymentId,
      amount,
      amountReceived,
      ...(commission !== null && { commission }),
      fromCard,
    };
  }

  private common(name: PaymentEventName, key: string, state: BillState): EventData<'bill.expired'> {
    const { bill } = this.input;
    return {
      id: this.eventId(name, key),
      version: 1,
      shop: bill.shop,
      orderId: bill.orderId,
      attempt: bill.attempt,
      billId: bill.billId,
      bill: state,
      billedAmount: bill.amount,
      currency: bill.currency,
      custom: bill.customGiven ? bill.custom : null,
      occurredAt: bill.now.toISOString(),
    };
  }

  private eventKey(name: PaymentEventName, key: string): string {
    return `${name}:${this.input.bill.shop}:${key}`;
  }

  private eventId(name: PaymentEventName, key: string): string {
    return uuidFromName(this.eventKey(name, key));
  }
}
