import { Inject, Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { GroupCommit, type ItemOutcome } from '../common/group-commit.js';
import { PaymentLogger, type LogFields } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { BillState, LockedBill, LockedOrder } from '../domain/bill.js';
import type { ClaimedBill } from '../domain/claim.js';
import {
  decide,
  decideUnlistable,
  splitIntoParts,
  judgeOnce,
  type BillReview,
  type Decision,
} from '../domain/decide.js';
import { defaultJudge } from '../domain/judge.js';
import { occasionOfReview } from '../domain/occasion.js';
import type { LedgerPayment, PaymentList, ReportedPayment, ReviewReason } from '../domain/payment.js';
import { endOfLife, horizon, nextCheck } from '../domain/schedule.js';
import type { NewEvent } from '../domain/settlement.js';
import { BillStore } from '../bills/storage/bill.store.js';
import { mayConcernOneRow } from '../database/query-errors.js';
import { SettlementStore } from './storage/settlement.store.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { PaymentJudgeError } from './judge.error.js';
import { SettlementTransactions, type NewEvents } from './settlement.transactions.js';
import { SettlementBatch, type CheckAnswer, type BatchDecision } from './settlement.batch.js';
import type { IntentId, OrderId } from '../domain/ids.js';
import type { OwnTransaction } from '../database/own-transaction.js';

/** `stale` if a later claim had taken over the bill, so that nothing was written. */
export type SettlementResult =
  | { readonly stale: true; readonly events: readonly never[] }
  | {
      readonly stale: false;
      readonly state: BillState;
      readonly events: readonly NewEvent[];
      /** How many hints of the claim wait for a later check. */
      readonly hintsLeft: number;
    };

const STALE_RESULT: SettlementResult = { stale: true, events: [] };

/** Reading this many payments, and deciding on them, takes tens of milliseconds each: other work may run in between. */
const MANY_PAYMENTS = 2_000;

/** A larger transaction would hold its locks for long. */
const MAX_BILLS_OF_TRANSACTION = 64;

/**
 * The only writer of payments, results and events. Order, bill, payments, events with their deliveries, reviews, bill
 * state and hints are written in one transaction: all or nothing. Answers that arrive during a transaction are settled
 * together in the next one.
 */
@Injectable()
export class SettlementService {
  private readonly logger = new PaymentLogger('PaymentSettlement');
  private readonly commits: GroupCommit<CheckAnswer, SettlementResult> = new GroupCommit({
    name: 'PaymentSettlement',
    maxBatch: MAX_BILLS_OF_TRANSACTION,
    // Each may wait for a locked order, and holds a connection meanwhile.
    maxSingles: 2,
    timeoutMs: this.options.leases.checkMs / 2,
    run: (answers) => this.settleTogether(answers, false),
    processSingle: (answer) => this.settleAlone(answer),
    // A single answer has already failed alone.
    isSeparable: (error, answers) => answers.length > 1 && mayConcernOneRow(error),
  });

  constructor(
    private readonly transactions: SettlementTransactions,
    private readonly store: SettlementStore,
    private readonly bills: BillStore,
    private readonly random: PaymentRandom,
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {}

  /** Writes nothing if the claim's token has been replaced. */
  async settle(claim: ClaimedBill, { payments: listed, problems }: PaymentList): Promise<SettlementResult> {
    const { schedule, judge = defaultJudge } = this.options;
    const unreadable = problems.length > 0 ? await this.reviewOf(claim, 'unreadable-payment') : undefined;
    const { early, last } = splitIntoParts(listed);
    const judgeOfPart = judgeOnce(judge, [...early.flat(), ...last]);
    const settlePart = (part: readonly ReportedPayment[], isPartial: boolean): Promise<SettlementResult> => {
      const ids = part.map(({ paymentId }) => paymentId);
      return this.submit(claim, ids, !isPartial, (bill, order, knownPayments, isAnnounced) => {
        try {
          return decide({
            bill,
            ...order,
            known: knownPayments,
            listed: part,
            isPartial,
            isAnnounced,
            unreadable,
            judge: judgeOfPart,
            endOfLife: endOfLife(bill, schedule),
            horizon: horizon(bill, schedule),
          });
        } catch (error) {
          throw new PaymentJudgeError(bill, error);
        }
      });
    };
    const events: NewEvent[] = [];
    for (const part of early) {
      const settled = await settlePart(part, true);
      if (settled.stale) return settled;
      events.push(...settled.events);
    }
    const settled = await settlePart(last, false);
    if (settled.stale) return settled;
    this.reportUnknown(claim, last, settled.events);
    return { ...settled, events: [...events, ...settled.events] };
  }

  private reportUnknown(claim: ClaimedBill, listed: readonly ReportedPayment[], events: readonly NewEvent[]): void {
    for (const { name, payload } of events) {
      const { reason, paymentId } = payload as { reason?: ReviewReason; paymentId?: string | null };
      if (name !== 'payment.review' || reason !== 'unknown-status') continue;
      const status = listed.find((payment) => payment.paymentId === paymentId)?.statusText ?? '';
      const line =
        `The service lists payment ${paymentId} of bill ${claim.billId} with the status "${status}", which the ` +
        'specification does not define. It settles nothing; a review is open.';
      this.logger.write('unknown-status', line, fieldsOf(claim));
    }
  }

  /** Opens a review of a bill whose payments the service refuses to list (section 8.2). */
  async reviewUnlistable(claim: ClaimedBill): Promise<SettlementResult> {
    const { occasion } = await this.reviewOf(claim, 'too-many-payments');
    return this.submit(claim, [], true, (bill) => decideUnlistable(bill, 'too-many-payments', occasion));
  }

  /** Opens a review of a bill that could not be checked by the end of its lifetime. The check itself stays failed. */
  async reviewUncheckable(claim: ClaimedBill): Promise<void> {
    const { occasion } = await this.reviewOf(claim, 'uncheckable');
    if (occasion === undefined) return;
    await this.submit(claim, [], false, (bill) => decideUnlistable(bill, 'uncheckable', occasion));
  }

  /** Reads without a lock: if a person closes a review at the same moment, a later check opens the next one. */
  private async reviewOf(claim: ClaimedBill, reason: ReviewReason): Promise<BillReview> {
    const reviews = await this.store.reviewsOfBill(claim.intentId, reason);
    const occasion = occasionOfReview(reviews, claim.hints, claim.now);
    return { occasion, isOpen: reviews.open > 0 || occasion !== undefined };
  }

  /**
   * Writes an operator's decision about a bill, under the same locks; nothing if the decision is `undefined`. A check
   * in flight becomes stale and is repeated.
   */
  async settleByOperator(
    billKey: { readonly shop: string; readonly orderId: OrderId; readonly intentId: IntentId },
    decision: (tx: OwnTransaction, bill: LockedBill, order: LockedOrder) => Promise<Decision | undefined>,
  ): Promise<void> {
    await this.runTraced(billKey, (traceparent) =>
      this.transactions.run<Pick<SettlementResult, 'events'>>(async (tx, write) => {
        const order = await this.bills.lockOrder(tx, billKey.shop, billKey.orderId);
        const bill = await this.store.lockBill(tx, billKey.intentId);
        if (!bill) throw new Error(`Bill ${billKey.intentId} of a review does not exist.`);
        const decided = await decision(tx, bill, order);
        if (!decided) return { events: [] };
        const { state } = decided;
        const nextCheckAt = nextCheck(bill, state, false, this.options.schedule, this.random.fraction());
        const change = { state, nextCheckAt, answered: false, scheduled: false };
        const hints = { consumed: [], postponed: [] };
        const settlement = { ...decided, bill, traceparent, assertedAt: null, change, hints };
        return { events: newEventsOf(decided, await write([settlement])) };
      }, false),
    );
  }

  /** The ledger's payments of a bill, and those with these ids, whichever bill they belong to. */
  payments(tx: OwnTransaction, bill: LockedBill, paymentIds: readonly string[]): Promise<LedgerPayment[]> {
    return this.store.payments(
      tx,
      [bill.intentId],
      paymentIds.map((paymentId) => ({ shop: bill.shop, paymentId })),
    );
  }

  private submit(
    claim: ClaimedBill,
    paymentIds: readonly string[],
    ends: boolean,
    decision: CheckAnswer['decide'],
  ): Promise<SettlementResult> {
    return this.runTraced(claim, (traceparent) =>
      this.commits.add({ claim, paymentIds, ends, traceparent, decide: decision }),
    );
  }

  /** Runs the settlement in a span whose trace the events continue. Counts the new events after the commit. */
  private async runTraced<T extends Pick<SettlementResult, 'events'>>(
    orderKey: { readonly shop: string; readonly orderId: OrderId },
    work: (traceparent: string | null) => Promise<T>,
  ): Promise<T> {
    const attributes = { 'payment.shop': orderKey.shop, 'payment.order_id': orderKey.orderId };
    return this.telemetry.span('payment.settle', { attributes }, async (span) => {
      const done = await work(span.traceparent);
      span.set({ 'payment.events': done.events.length });
      for (const { name } of done.events) this.metrics.settlement(orderKey.shop, name);
      return done;
    });
  }

  /**
   * Locks orders, then bills; decides under the locks; writes all decisions. A bill that was not locked has a later
   * claim, or was skipped because its lock is taken: no bill waits for one that is stuck.
   */
  private settleTogether(
    answers: readonly CheckAnswer[],
    wait: boolean,
  ): Promise<(ItemOutcome<SettlementResult> | undefined)[]> {
    const claims = answers.map(({ claim }) => claim);
    return this.transactions.run(async (tx, write) => {
      const listed = answers.flatMap(({ claim: { shop }, paymentIds }) =>
        paymentIds.map((paymentId) => ({ shop, paymentId })),
      );
      // All payments of a bill are needed only at the end of a check.
      const ending = new Set(answers.filter(({ ends }) => ends).map(({ claim }) => claim.intentId));
      const { locked, known: knownPayments } = await this.store.lockAndRead(tx, claims, wait, [...ending], listed);
      // The key has the token, too: of two answers about one bill, only that of the current claim counts.
      const held = new Map(locked.map((one) => [claimKey({ intentId: one.bill.intentId, token: one.token }), one]));
      if (held.size === 0) return answers.map(() => undefined);
      if (knownPayments.length >= MANY_PAYMENTS) await setImmediate();
      const { schedule } = this.options;
      const mayExpire = locked.filter(
        ({ bill }) => bill.state === 'OPEN' && bill.now.getTime() >= endOfLife(bill, schedule),
      );
      const announcements = await this.store.countAnnouncements(
        tx,
        mayExpire.map(({ bill }) => bill.intentId),
      );
      const batch = new SettlementBatch(knownPayments, announcements, schedule, () => this.random.fraction());
      const ends = answers.map((answer): ItemOutcome<BatchDecision> | undefined => {
        const key = claimKey(answer.claim);
        const one = held.get(key);
        if (!one) return undefined;
        // A second answer for the same claim must see what the first one has written, so it is settled alone.
        held.delete(key);
        return batch.settle(answer, one);
      });
      const added = await write(batch.settlements);
      return ends.map((end): ItemOutcome<SettlementResult> | undefined => {
        if (!end || 'error' in end) return end;
        const { state, hintsLeft } = end.value;
        return { value: { stale: false, state, hintsLeft, events: newEventsOf(end.value, added) } };
      });
    }, true);
  }

  private async settleAlone(answer: CheckAnswer): Promise<SettlementResult> {
    const [end] = await this.settleTogether([answer], true);
    if (end && 'error' in end) throw end.error;
    return end?.value ?? STALE_RESULT;
  }
}

/** Another check may have stored some of the events before. */
function newEventsOf({ events }: Decision, added: NewEvents): readonly NewEvent[] {
  return events.filter(({ id }) => added.has(id));
}

function claimKey({ intentId, token }: Pick<ClaimedBill, 'intentId' | 'token'>): string {
  return `${intentId} ${token}`;
}

/** What log lines say about a check. */
export function fieldsOf({ shop, orderId, billId, intentId, token: check }: ClaimedBill): LogFields {
  return { shop, orderId, billId, intentId, check };
}
