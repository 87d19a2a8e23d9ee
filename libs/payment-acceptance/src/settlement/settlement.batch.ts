import type { ItemOutcome } from '../common/group-commit.js';
import type { LockedBill, LockedOrder } from '../domain/bill.js';
import type { AnsweredHints, KnownPayment } from '../domain/callback.js';
import type { ClaimedBill, LockedClaim } from '../domain/claim.js';
import type { Decision } from '../domain/decide.js';
import { answerHints, firstAssertion } from '../domain/hints.js';
import type { LedgerPayment } from '../domain/payment.js';
import type { CheckSchedule } from '../domain/schedule.js';
import { nextCheck } from '../domain/schedule.js';
import type { Settlement } from '../domain/settlement.js';
import type { IntentId } from '../domain/ids.js';

export interface CheckAnswer {
  readonly claim: ClaimedBill;
  readonly paymentIds: readonly string[];
  /** Whether the answer ends the check. */
  readonly ends: boolean;
  /** Trace context that its events continue. */
  readonly traceparent: string | null;
  /** @param isAnnounced whether a callback announces a success, for which the list will be requested again */
  decide(bill: LockedBill, order: LockedOrder, knownPayments: readonly KnownPayment[], isAnnounced: boolean): Decision;
}

export interface BatchDecision extends Decision {
  /** How many hints of the claim wait for a later check. */
  readonly hintsLeft: number;
}

/**
 * Decides about several bills that one transaction settles, one after the other. Each decision sees the changes of
 * those before it, as if they had been committed.
 */
export class SettlementBatch {
  readonly settlements: Settlement[] = [];
  private readonly payments = new Map<string, KnownPayment>();
  private readonly ofBills = new Map<IntentId, Set<string>>();
  private readonly firstPaymentIds = new Map<string, string>();

  constructor(
    knownPayments: readonly KnownPayment[],
    /** How many pending callbacks announce a success, of each bill that may expire. */
    private readonly announcements: ReadonlyMap<IntentId, number>,
    private readonly schedule: CheckSchedule,
    private readonly fraction: () => number,
  ) {
    for (const payment of knownPayments) this.set(payment);
  }

  /** The bill must be locked. An error in the decision fails that bill alone. */
  settle(answer: CheckAnswer, { bill, order: lockedOrder }: LockedClaim): ItemOutcome<BatchDecision> {
    const { claim } = answer;
    const orderKey = keyOf(bill.shop, bill.orderId);
    const order = { ...lockedOrder, firstPaymentId: this.firstPaymentIds.get(orderKey) ?? lockedOrder.firstPaymentId };
    const keys = new Set(this.ofBills.get(bill.intentId));
    for (const paymentId of answer.paymentIds) keys.add(keyOf(bill.shop, paymentId));
    const knownPayments = this.paymentsOf(keys);
    let decided: Decision;
    try {
      decided = answer.decide(bill, order, knownPayments, false);
    } catch (error) {
      return { error };
    }
    for (const payment of decided.payments) this.keep(bill, payment);
    if (decided.firstPaymentId !== null) this.firstPaymentIds.set(orderKey, decided.firstPaymentId);
    const hints = answerHints(claim.hints, this.paymentsOf(this.ofBills.get(bill.intentId) ?? []), this.schedule.lagMs);
    // Its payments are the same either way.
    if (decided.state === 'EXPIRED' && this.countLeft(claim, hints) > 0)
      decided = answer.decide(bill, order, knownPayments, true);
    const { state } = decided;
    const { scheduled } = claim;
    const nextCheckAt = nextCheck(bill, state, scheduled, this.schedule, this.fraction());
    this.settlements.push({
      ...decided,
      bill,
      traceparent: answer.traceparent,
      assertedAt: firstAssertion(claim.hints),
      change: answer.ends ? { state, nextCheckAt, answered: true, scheduled } : undefined,
      hints: answer.ends ? hints : { consumed: [], postponed: [] },
    });
    return { value: { ...decided, hintsLeft: claim.hints.length - hints.consumed.length } };
  }

  private keep({ shop, now }: LockedBill, payment: LedgerPayment): void {
    const before = this.payments.get(keyOf(shop, payment.paymentId));
    const advanced = before?.status !== payment.status;
    const { knownAt, confirmedSince } =
      before && !advanced ? before : { knownAt: now, confirmedSince: { SUCCESS: 0, FAIL: 0 } };
    const { closedChanges = 0, isUnderReview = false } = before ?? {};
    const isReview = payment.verdict === 'review';
    this.set({
      ...payment,
      shop,
      knownAt,
      confirmedSince,
      closedChanges,
      isUnderReview: isReview && (before?.verdict !== 'review' || isUnderReview),
    });
  }

  private set(payment: KnownPayment): void {
    const key = keyOf(payment.shop, payment.paymentId);
    this.payments.set(key, payment);
    const ofBill = this.ofBills.get(payment.intentId);
    if (ofBill) ofBill.add(key);
    else this.ofBills.set(payment.intentId, new Set([key]));
  }

  private paymentsOf(keys: Iterable<string>): KnownPayment[] {
    return Array.from(keys, (key) => this.payments.get(key)).filter((payment) => payment !== undefined);
  }

  /** How many announcements of a success the check leaves unanswered. */
  private countLeft({ intentId, hints }: ClaimedBill, { consumed }: AnsweredHints): number {
    const consumedIds = new Set(consumed.map(({ id }) => id));
    const announce = hints.filter(({ asserts, expectsSuccess }) => asserts === 'SUCCESS' || expectsSuccess);
    return (this.announcements.get(intentId) ?? 0) - announce.filter(({ id }) => consumedIds.has(id)).length;
  }
}

function keyOf(shop: string, id: string): string {
  return `${shop}\n${id}`;
}
