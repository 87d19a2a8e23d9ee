import { uuidFromName } from './uuid.js';
import type { Judge, LedgerPayment, ReportedPayment, ReviewReason, Verdict } from './payment.js';
import { paymentEvent, type EventData, type PaymentEventName } from './payment-events.js';
import type { BillState, LockedBill } from './bill.js';
import type { NewReview, Settlement } from './settlement.js';
import type { PaymentId } from './ids.js';

/** What a list of payments changes, all of it written in one transaction. */
export interface Decision extends Pick<Settlement, 'payments' | 'events' | 'reviews' | 'firstPaymentId'> {
  readonly state: BillState;
}

/** How long a bill is followed, in epoch milliseconds. */
export interface Lifetime {
  /** From this moment on an unpaid bill expires. */
  readonly endOfLife: number;
  /** Until this moment a bill is looked at that a running payment keeps open. */
  readonly horizon: number;
}

export interface DecisionInput extends Lifetime {
  readonly bill: LockedBill;
  /** The payment that paid the order before, if any. */
  readonly firstPaymentId: PaymentId | null;
  readonly known: readonly LedgerPayment[];
  readonly listed: readonly ReportedPayment[];
  /** Where the list has entries that cannot be read: what tells their review from earlier ones. */
  readonly unreadable?: string | undefined;
  readonly judge: Judge;
}

/** The judge does not keep its contract; the check is repeated, so that nothing is settled on a guess. */
export class JudgeContractError extends Error {}

/** An unknown status may be any, so it is not taken for an end. */
function isRunning({ status }: LedgerPayment): boolean {
  return status === 'NEW' || status === 'PROCESS' || status === 'UNKNOWN';
}

/** Collects what follows for one bill. */
export class DecisionBuilder {
  readonly changedPayments = new Map<string, LedgerPayment>();
  private readonly events: { name: PaymentEventName; key: string; data: (state: BillState) => object }[] = [];
  private readonly reviews: NewReview[] = [];
  private firstPaymentId: PaymentId | null = null;
  private succeeded = false;

  /** @param paidBefore the payment that paid the order before, if any */
  constructor(
    private readonly bill: LockedBill,
    private readonly paidBefore: PaymentId | null,
  ) {}

  take(payment: ReportedPayment, verdict: Verdict): void {
    switch (verdict.kind) {
      case 'pending':
        return;
      case 'failed':
        this.event('payment.failed', payment.paymentId, (state) => ({
          ...this.outcome('payment.failed', payment, state),
          orderPaid: (this.paidBefore ?? this.firstPaymentId) !== null,
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
    const { bill } = this;
    const key = [reason, bill.shop, payment?.paymentId ?? bill.intentId, occasion].filter(Boolean).join(':');
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

  /** The end of a check: with the payments of the bill as they are now, whose time may be over. */
  decisionAfterCheck(rows: readonly LedgerPayment[], lifetime: Lifetime): Decision {
    const { state: before, intentId } = this.bill;
    const state = this.stateAfter(rows, lifetime);
    if (state === 'OPEN') this.reviewUnfinished(rows, lifetime);
    if (state === 'EXPIRED' && before === 'OPEN') {
      this.event('bill.expired', intentId, () => this.common('bill.expired', intentId, state));
    }
    return this.decision(state);
  }

  /** What was taken, reviewed and accepted: nothing but a payment that succeeded changes the bill. */
  decision(state: BillState = this.succeeded ? 'PAID' : this.bill.state): Decision {
    return {
      state,
      payments: [...this.changedPayments.values()],
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
  private reviewUnfinished(rows: readonly LedgerPayment[], { endOfLife, horizon }: Lifetime): void {
    const { bill } = this;
    const now = bill.now.getTime();
    if (now < endOfLife) return;
    for (const row of rows) {
      const listed = { ...row, billId: bill.billId, createdAt: null };
      if (row.status === 'UNKNOWN') this.review('unknown-status', listed);
      else if (now >= horizon && isRunning(row)) this.review('unfinished', listed);
    }
  }

  accept(payment: ReportedPayment, operator: string): void {
    this.succeed(payment, {}, { acceptedBy: operator });
  }

  private succeed(
    payment: ReportedPayment,
    verdict: Omit<Extract<Verdict, { kind: 'succeeded' }>, 'kind'>,
    acceptance: { readonly acceptedBy?: string } = {},
  ): void {
    const firstForOrder = this.paidBefore === null && this.firstPaymentId === null;
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

  private stateAfter(rows: readonly LedgerPayment[], { endOfLife }: Lifetime): BillState {
    const { bill } = this;
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

  /** What every event says, which is all that `bill.expired` says. */
  private common(name: PaymentEventName, key: string, state: BillState): EventData<'bill.expired'> {
    const { bill } = this;
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
    return `${name}:${this.bill.shop}:${key}`;
  }

  private eventId(name: PaymentEventName, key: string): string {
    return uuidFromName(this.eventKey(name, key));
  }
}
