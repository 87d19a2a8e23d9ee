import { eventId } from './event-id.js';
import { compareAmounts, subtractAmounts } from './money.js';
import { uuidFromName } from './uuid.js';
import type { Judge, LedgerPayment, ReportedPayment, ReviewReason, Verdict } from './payment.js';
import { paymentEvent, type EventData, type PaymentEventName } from './payment-events.js';
import type { BillState, LockedBill, LockedOrder } from './bill.js';
import type { KnownPayment } from './callback.js';
import type { NewReview, Settlement } from './settlement.js';
import type { PaymentId } from './ids.js';

/** The changes that follow from a list of payments, written in one transaction. */
export interface Decision extends Pick<Settlement, 'payments' | 'events' | 'reviews' | 'firstPaymentId'> {
  readonly state: BillState;
}

/** The limits of a bill's lifetime, in epoch milliseconds. */
export interface Lifetime {
  /** When an unpaid bill expires. */
  readonly endOfLife: number;
  /**
   * When a payment that is still in progress goes to a review and an open bill expires, whatever may be money, since it
   * will soon no longer be checked.
   */
  readonly horizon: number;
}

/** A payment in the ledger, with what is known of its reviews: nothing, if the payment is being decided on just now. */
export type KnownLedgerPayment = LedgerPayment & Partial<Pick<KnownPayment, 'closedChanges' | 'isUnderReview'>>;

/** A review of the whole bill. */
export interface BillReview {
  /** Distinguishes the review from earlier ones; `undefined` if none is opened now. */
  readonly occasion: string | undefined;
  /** Whether the review is open, or opened now. */
  readonly isOpen: boolean;
}

export interface DecisionInput extends Lifetime, LockedOrder {
  readonly bill: LockedBill;
  readonly known: readonly KnownLedgerPayment[];
  readonly listed: readonly ReportedPayment[];
  /** Whether further parts of the list follow: until then, `known` has the payments of this part alone. */
  readonly isPartial: boolean;
  /** Whether a callback announces a success, for which the list will be requested again. */
  readonly isAnnounced: boolean;
  /** Set if the list has unreadable entries, any of which may be money. */
  readonly unreadable?: BillReview | undefined;
  readonly judge: Judge;
}

/** The judge broke its contract. The check is repeated, so that nothing is settled on a guess. */
export class JudgeContractError extends Error {}

/** Whether the payment may hold money: if its bill expired meanwhile, the order could be billed again. */
function mayHoldMoney({ verdict, isUnderReview = true }: KnownLedgerPayment): boolean {
  return verdict === 'pending' || (verdict === 'review' && isUnderReview);
}

type CommonData = Omit<EventData<'bill.expired'>, 'orderPaid'>;

/** An event whose payload is complete once the bill's new state is known. */
interface CollectedEvent {
  readonly id: string;
  readonly name: PaymentEventName;
  readonly key: string;
  readonly data: (state: BillState) => object;
}

/** Collects the changes of one bill, each once, however often the list gives reason for it. */
export class DecisionBuilder {
  private readonly changedPayments = new Map<string, LedgerPayment>();
  private readonly events = new Map<string, CollectedEvent>();
  private readonly reviews = new Map<string, NewReview>();
  private firstPaymentId: PaymentId | null = null;
  private succeeded = false;

  /** @param paidBefore the payment that already paid the order, if any */
  constructor(
    private readonly bill: LockedBill,
    private readonly paidBefore: PaymentId | null,
  ) {}

  /** Replaces the ledger's row of a payment. */
  keep(payment: LedgerPayment): void {
    this.changedPayments.set(payment.paymentId, payment);
  }

  take(payment: ReportedPayment, verdict: Verdict, occasion = ''): void {
    switch (verdict.kind) {
      case 'pending':
        return;
      case 'failed':
        this.event('payment.failed', payment.paymentId, [payment.paymentId], (common) => ({
          ...this.outcome(common, payment),
          orderPaid: this.isOrderPaid,
        }));
        return;
      case 'review':
        this.review(verdict.reason, payment, occasion);
        return;
      case 'succeeded':
        this.succeed(payment, verdict);
    }
  }

  /**
   * Opens a review of a payment, or of the whole bill if there is none.
   * @param occasion distinguishes the review from others of the payment for the same reason
   */
  review(reason: ReviewReason, payment: ReportedPayment | null, occasion = ''): void {
    const { bill } = this;
    // Several bills may list the same payment, and each needs a person.
    const listedBy = reason === 'payment-moved' || reason === 'foreign-bill' ? bill.intentId : '';
    const keyParts = [reason, bill.shop, payment?.paymentId ?? bill.intentId, listedBy, occasion];
    const key = keyParts.filter(Boolean).join(':');
    const id = uuidFromName(`review:${key}`);
    const { paymentId = null, amount = null, amountReceived = null } = payment ?? {};
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
    if (!this.reviews.has(id)) this.reviews.set(id, { id, key, paymentId, reason, detail });
    this.event('payment.review', key, [paymentId, reason, occasion], (common) => ({
      ...common,
      reviewId: id,
      reason,
      paymentId,
      amount,
      amountReceived,
      ...this.currencyOf(payment),
      fromCard: this.cardOf(payment),
    }));
  }

  /**
   * The decision at the end of a check: the bill may expire.
   * @param rows all payments of the bill
   * @param mayHideMoney whether there may be money that the rows do not show
   */
  decisionAfterCheck(rows: readonly KnownLedgerPayment[], lifetime: Lifetime, mayHideMoney: boolean): Decision {
    const { state: before, intentId } = this.bill;
    const state = this.stateAfter(mayHideMoney || rows.some(mayHoldMoney), lifetime);
    if (state === before || state === 'EXPIRED') this.reviewUnfinished(rows, lifetime);
    if (state === 'EXPIRED' && before === 'OPEN') {
      this.event('bill.expired', intentId, [], (common) => ({ ...common, orderPaid: this.isOrderPaid }));
    }
    return this.decision(state);
  }

  /** The collected changes. By default only a payment that succeeded changes the bill's state. */
  decision(state: BillState = this.succeeded ? 'PAID' : this.bill.state): Decision {
    return {
      state,
      payments: Array.from(this.changedPayments.values(), (payment) => ({
        ...payment,
        fromCard: this.cardOf(payment),
      })),
      reviews: [...this.reviews.values()],
      firstPaymentId: this.firstPaymentId,
      events: Array.from(this.events.values(), ({ data, ...event }) => ({ ...event, payload: data(state) })),
    };
  }

  /**
   * A payment that has neither succeeded nor failed when the bill's time is over may hold money and needs a person. A
   * payment that is still NEW on a paid bill is an attempt that the payer has abandoned.
   */
  private reviewUnfinished(rows: readonly LedgerPayment[], { endOfLife, horizon }: Lifetime): void {
    const { bill } = this;
    const now = bill.now.getTime();
    const isOver = now >= horizon;
    if (bill.state === 'OPEN' ? now < endOfLife : !isOver) return;
    for (const row of rows.filter(({ verdict }) => verdict === 'pending')) {
      const listed = { ...row, billId: bill.billId, createdAt: null };
      if (row.status === 'UNKNOWN') this.review('unknown-status', listed);
      else if (isOver && !(row.status === 'NEW' && bill.state === 'PAID')) this.review('unfinished', listed);
    }
  }

  accept(payment: ReportedPayment, operator: string): void {
    const { amount } = payment;
    const isMore = amount !== null && compareAmounts(amount, this.bill.amount) > 0;
    const surplus = isMore ? { surplus: subtractAmounts(amount, this.bill.amount) } : {};
    this.succeed(payment, surplus, { acceptedBy: operator });
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
    this.event('payment.succeeded', payment.paymentId, [payment.paymentId], (common) => ({
      ...this.outcome(common, payment),
      amount,
      firstForOrder,
      ...(verdict.surplus !== undefined && { surplus: verdict.surplus }),
      ...acceptance,
    }));
    if (verdict.review !== undefined) this.review(verdict.review, payment);
    if (!firstForOrder) this.review('second-payment', payment);
  }

  private get isOrderPaid(): boolean {
    return (this.paidBefore ?? this.firstPaymentId) !== null;
  }

  private stateAfter(mayBePaid: boolean, { endOfLife, horizon }: Lifetime): BillState {
    const { bill } = this;
    if (this.succeeded) return 'PAID';
    const end = mayBePaid ? Math.max(endOfLife, horizon) : endOfLife;
    return bill.state === 'OPEN' && bill.now.getTime() >= end ? 'EXPIRED' : bill.state;
  }

  /**
   * @param key distinguishes the event in our tables
   * @param facts what the event is about, besides the bill; its id is derived from this
   */
  private event<Name extends PaymentEventName>(
    name: Name,
    key: string,
    facts: readonly (string | null)[],
    data: (common: CommonData) => EventData<Name>,
  ): void {
    const { bill } = this;
    const id = eventId(name, bill, facts);
    if (this.events.has(id)) return;
    this.events.set(id, {
      id,
      name,
      key: `${name}:${bill.shop}:${key}`,
      data: (state) => paymentEvent(name, data(this.common(id, state))),
    });
  }

  private outcome(common: CommonData, payment: ReportedPayment) {
    const { paymentId, amount, amountReceived, commission } = payment;
    return {
      ...common,
      paymentId,
      amount,
      amountReceived,
      ...this.currencyOf(payment),
      ...(commission !== null && { commission }),
      fromCard: this.cardOf(payment),
    };
  }

  private common(id: string, state: BillState): CommonData {
    const { bill } = this;
    return {
      id,
      version: 1,
      shop: bill.shop,
      orderId: bill.orderId,
      attempt: bill.attempt,
      billId: bill.billId,
      billState: state,
      billedAmount: bill.amount,
      currency: bill.currency,
      custom: bill.customGiven && !bill.redacted ? bill.custom : null,
      occurredAt: bill.now.toISOString(),
      ...(bill.redacted && { redacted: true }),
    };
  }

  private currencyOf(payment: Pick<ReportedPayment, 'currency'> | null): { readonly paymentCurrency?: string } {
    const currency = payment?.currency ?? this.bill.currency;
    return currency === this.bill.currency ? {} : { paymentCurrency: currency };
  }

  private cardOf(payment: Pick<ReportedPayment, 'fromCard'> | null): string | null {
    return this.bill.redacted ? null : (payment?.fromCard ?? null);
  }
}
