import type { Ended } from '../common/group-commit.js';
import type { LockedBill } from '../domain/bill.js';
import type { ComparablePayment, KnownPayment } from '../domain/callback.js';
import type { ClaimedBill, LockedClaim } from '../domain/claim.js';
import type { Decision } from '../domain/decide.js';
import { answerHints, firstAssertion } from '../domain/hints.js';
import type { LedgerPayment } from '../domain/payment.js';
import type { CheckScheduleOptions } from '../domain/schedule-options.js';
import { nextCheck } from '../domain/schedule.js';
import type { Settlement } from '../domain/settlement.js';
import type { PaymentId } from '../domain/ids.js';

/** The answer to a check, ready to be settled. */
export interface CheckAnswer {
  readonly claim: ClaimedBill;
  /** The payments that the service lists. */
  readonly paymentIds: readonly string[];
  /** Whether it ends the check. */
  readonly ends: boolean;
  /** Trace context that its events continue. */
  readonly traceparent: string | null;
  decide(bill: LockedBill, firstPaymentId: PaymentId | null, known: readonly LedgerPayment[]): Decision;
}

/**
 * Several bills settled in one transaction, one after the other. Each sees the changes of those before it, as if they had
 * been committed.
 */
export class SettlementBatch {
  /** The settlements to write. */
  readonly settlements: Settlement[] = [];
  private readonly payments: Map<string, KnownPayment>;
  private readonly firstPaymentIds = new Map<string, string>();

  constructor(
    known: readonly KnownPayment[],
    private readonly schedule: Readonly<Required<CheckScheduleOptions>>,
    private readonly fraction: () => number,
  ) {
    this.payments = new Map(known.map((payment) => [keyOf(payment.shop, payment.paymentId), payment]));
  }

  /** Decides on a locked bill. An error in the decision fails that bill alone. */
  settle(answer: CheckAnswer, { bill, firstPaymentId }: LockedClaim): Ended<Decision> {
    const { claim } = answer;
    const order = keyOf(bill.shop, bill.orderId);
    const listed = new Set(answer.paymentIds);
    const known = [...this.payments.values()].filter(
      ({ shop, intentId, paymentId }) => intentId === bill.intentId || (shop === bill.shop && listed.has(paymentId)),
    );
    let decided: Decision;
    try {
      decided = answer.decide(bill, this.firstPaymentIds.get(order) ?? firstPaymentId, known);
    } catch (error) {
      return { error };
    }
    for (const payment of decided.payments) this.keep(bill, payment);
    if (decided.firstPaymentId !== null) this.firstPaymentIds.set(order, decided.firstPaymentId);
    const { state } = decided;
    const { scheduled } = claim;
    const nextCheckAt = nextCheck(bill, state, scheduled, this.schedule, this.fraction());
    const hints = answerHints(claim.hints, this.comparable(bill), this.schedule.lagMs);
    this.settlements.push({
      ...decided,
      bill,
      traceparent: answer.traceparent,
      assertedAt: firstAssertion(claim.hints),
      change: answer.ends ? { state, nextCheckAt, scheduled } : undefined,
      hints: answer.ends ? hints : { consumed: [], again: [] },
    });
    return { value: decided };
  }

  private keep({ shop, now }: LockedBill, payment: LedgerPayment): void {
    const key = keyOf(shop, payment.paymentId);
    const before = this.payments.get(key);
    const advanced = before?.status !== payment.status;
    const { knownAt, confirmedSince } =
      before && !advanced ? before : { knownAt: now, confirmedSince: { SUCCESS: 0, FAIL: 0 } };
    this.payments.set(key, { ...payment, shop, knownAt, confirmedSince });
  }

  private comparable(bill: LockedBill): ComparablePayment[] {
    return [...this.payments.values()].filter(({ intentId }) => intentId === bill.intentId);
  }
}

function keyOf(shop: string, id: string): string {
  return `${shop}\n${id}`;
}
