import { Inject, Injectable } from '@nestjs/common';
import { setImmediate } from 'node:timers/promises';
import { GroupCommit, type Ended } from '../common/group-commit.js';
import { describeError, errorType } from '../common/errors.js';
import { PaymentLogger } from '../common/payment-logger.js';
import { RateLimitedLog } from '../common/rate-limited-log.js';
import { PaymentClock } from '../common/clock.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { BillState, LockedBill, LockedOrder } from '../domain/bill.js';
import type { ClaimedBill } from '../domain/claim.js';
import { decide, decideUnlistable, inParts, judgingOnce, type Decision } from '../domain/decide.js';
import { defaultJudge } from '../domain/judge.js';
import { deliveryId } from '../domain/event-id.js';
import { occasionOfReview } from '../domain/occasion.js';
import type { LedgerPayment, PaymentList, ReportedPayment, ReviewReason } from '../domain/payment.js';
import { endOfLife, horizon, nextCheck } from '../domain/schedule.js';
import type { NewEvent, Settlement } from '../domain/settlement.js';
import { BillStore } from '../bills/storage/bill.store.js';
import { CheckStore } from './storage/check.store.js';
import { DeliveryWorker } from '../events/delivery.worker.js';
import {
  DeliveryStore,
  type ClaimedDelivery,
  type DeliveryQueue,
  type ReservedDelivery,
} from '../events/storage/delivery.store.js';
import { mayConcernOneRow } from '../database/query-errors.js';
import { SettlementStore } from './storage/settlement.store.js';
import { SettlementWriter, type AddedEvent } from './storage/settlement.writer.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry } from '../telemetry/telemetry.js';
import { PaymentJudgeError } from './judge.error.js';
import { fieldsOf } from './check-log.js';
import { SettlementBatch, type CheckAnswer, type Decided } from './settlement.batch.js';
import type { IntentId, OrderId } from '../domain/ids.js';
import type { OwnTransaction } from '../database/own-transaction.js';

/** Result of a settlement; `stale` if a later claim had taken over the bill, so that nothing was written. */
export type Settled =
  | { readonly stale: true; readonly events: readonly never[] }
  | {
      readonly stale: false;
      readonly state: BillState;
      /** Those that are new. */
      readonly events: readonly NewEvent[];
      /** Whether a delivery of one of them waits to be claimed. */
      readonly isWaiting: boolean;
      /** How many hints of the claim wait for a later check. */
      readonly hintsLeft: number;
    };

const STALE: Settled = { stale: true, events: [] };

/** An application without handlers for an event is told of it once, and then of how many there were each minute. */
const UNCONSUMED_PAUSE_MS = 60_000;

/** As many as take tens of milliseconds to read, and as many to decide on: other work may go between. */
const MANY_PAYMENTS = 2_000;

/** Maximum bills settled in one transaction, so that no lock is held for long. */
const MAX_BILLS_OF_TRANSACTION = 64;

/**
 * The only writer of payments, results and events. Order, bill, payments, events with their deliveries, reviews, bill state
 * and hints are written in one transaction: all or nothing. Answers that arrive during a transaction are settled together
 * in the next one.
 */
@Injectable()
export class SettlementService {
  private readonly logger = new PaymentLogger('PaymentSettlement');
  private readonly commits: GroupCommit<CheckAnswer, Settled>;
  private readonly unconsumed: RateLimitedLog;

  constructor(
    private readonly store: SettlementStore,
    private readonly writer: SettlementWriter,
    private readonly bills: BillStore,
    private readonly checks: CheckStore,
    private readonly deliveries: DeliveryStore,
    private readonly deliverer: DeliveryWorker,
    private readonly random: PaymentRandom,
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    clock: PaymentClock,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.unconsumed = new RateLimitedLog(this.logger, clock, UNCONSUMED_PAUSE_MS);
    this.commits = new GroupCommit({
      name: 'PaymentSettlement',
      maxBatch: MAX_BILLS_OF_TRANSACTION,
      timeoutMs: this.options.leases.checkMs / 2,
      run: (answers) => this.settleTogether(answers, false),
      alone: (answer) => this.settleAlone(answer),
      // A single answer has already failed alone.
      isSeparable: (error, answers) => answers.length > 1 && mayConcernOneRow(error),
    });
  }

  /** Settles the service's list of payments of a claimed bill, unless the claim's token has been replaced. */
  async settle(claim: ClaimedBill, { payments: listed, problems }: PaymentList): Promise<Settled> {
    const { schedule, judge = defaultJudge } = this.options;
    const unreadable = problems.length > 0 ? await this.occasionOf(claim, 'unreadable-payment') : undefined;
    const { early, last } = inParts(listed);
    const judgeOfPart = judgingOnce(judge, [...early.flat(), ...last]);
    const settlePart = (part: readonly ReportedPayment[], goesOn: boolean): Promise<Settled> => {
      const ids = part.map(({ paymentId }) => paymentId);
      return this.submit(claim, ids, !goesOn, (bill, order, known) => {
        const lifetime = { endOfLife: endOfLife(bill, schedule), horizon: horizon(bill, schedule) };
        const input = { bill, ...order, known, listed: part, goesOn, unreadable, judge: judgeOfPart };
        try {
          return decide({ ...input, ...lifetime });
        } catch (error) {
          throw new PaymentJudgeError(bill, error);
        }
      });
    };
    const events: NewEvent[] = [];
    let isWaiting = false;
    for (const part of early) {
      const settled = await settlePart(part, true);
      if (settled.stale) return settled;
      events.push(...settled.events);
      isWaiting ||= settled.isWaiting;
    }
    const settled = await settlePart(last, false);
    if (settled.stale) return settled;
    this.reportUnknown(claim, last, settled.events);
    return { ...settled, events: [...events, ...settled.events], isWaiting: isWaiting || settled.isWaiting };
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
  async reviewUnlistable(claim: ClaimedBill): Promise<Settled> {
    const occasion = await this.occasionOf(claim, 'too-many-payments');
    return this.submit(claim, [], true, (bill) => decideUnlistable(bill, 'too-many-payments', occasion));
  }

  /** Opens a review of a bill that could not be checked by the end of its lifetime. The check itself stays failed. */
  async reviewUncheckable(claim: ClaimedBill): Promise<void> {
    const occasion = await this.occasionOf(claim, 'uncheckable');
    if (occasion === undefined) return;
    await this.submit(claim, [], false, (bill) => decideUnlistable(bill, 'uncheckable', occasion));
  }

  /** Reads without a lock: if a person closes a review at the same moment, a later check opens the next one. */
  private async occasionOf(claim: ClaimedBill, reason: ReviewReason): Promise<string | undefined> {
    return occasionOfReview(await this.store.reviewsOfBill(claim.intentId, reason), claim.hints, claim.now);
  }

  /**
   * Writes an operator's decision about a bill, under the same locks; `undefined` leaves the ledger alone. A check in flight
   * becomes stale and is repeated.
   */
  async settleByOperator(
    at: { readonly shop: string; readonly orderId: OrderId; readonly intentId: IntentId },
    decision: (tx: OwnTransaction, bill: LockedBill, order: LockedOrder) => Promise<Decision | undefined>,
  ): Promise<void> {
    await this.traced(at, (traceparent) =>
      this.transaction<Pick<Settled, 'events'>>(async (tx, reserve) => {
        const order = await this.bills.lockOrder(tx, at.shop, at.orderId);
        const bill = await this.store.lockBill(tx, at.intentId);
        if (!bill) throw new Error(`Bill ${at.intentId} of a review does not exist.`);
        const decided = await decision(tx, bill, order);
        if (!decided) return { value: { events: [] }, ...NOTHING_WRITTEN };
        const { state } = decided;
        const nextCheckAt = nextCheck(bill, state, false, this.options.schedule, this.random.fraction());
        const change = { state, nextCheckAt, scheduled: false };
        const hints = { consumed: [], again: [] };
        const settlement = { ...decided, bill, traceparent, assertedAt: null, change, hints };
        const written = await this.write(tx, [settlement], reserve);
        return { value: { events: newOf(decided, written.added) }, ...written };
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
  ): Promise<Settled> {
    return this.traced(claim, (traceparent) =>
      this.commits.add({ claim, paymentIds, ends, traceparent, decide: decision }),
    );
  }

  /** Runs the settlement in a span, whose trace the events continue. Counts the new events after the commit. */
  private async traced<T extends Pick<Settled, 'events'>>(
    at: { readonly shop: string; readonly orderId: OrderId },
    work: (traceparent: string | null) => Promise<T>,
  ): Promise<T> {
    const attributes = { 'payment.shop': at.shop, 'payment.order_id': at.orderId };
    return this.telemetry.span('payment.settle', { attributes }, async (span) => {
      const done = await work(span.traceparent);
      span.set({ 'payment.events': done.events.length });
      for (const { name } of done.events) this.metrics.settlement(at.shop, name);
      return done;
    });
  }

  /**
   * Locks orders, then bills; decides under the locks; writes all decisions. A bill that was not locked has a later claim,
   * or was skipped because its lock is taken: no bill waits for one that is stuck.
   */
  private settleTogether(answers: readonly CheckAnswer[], wait: boolean): Promise<(Ended<Settled> | undefined)[]> {
    const claims = answers.map(({ claim }) => claim);
    return this.transaction(async (tx, reserve) => {
      const listed = answers.flatMap(({ claim: { shop }, paymentIds }) =>
        paymentIds.map((paymentId) => ({ shop, paymentId })),
      );
      // Only at the end of a check are all payments of a bill needed.
      const ending = new Set(answers.filter(({ ends }) => ends).map(({ claim }) => claim.intentId));
      const { locked, known } = await this.store.lockAndRead(tx, claims, wait, [...ending], listed);
      // By bill and token: of two answers about one bill, only the current claim's counts.
      const held = new Map(locked.map((one) => [claimKey({ intentId: one.bill.intentId, token: one.token }), one]));
      if (held.size === 0) return { value: answers.map(() => undefined), ...NOTHING_WRITTEN };
      if (known.length >= MANY_PAYMENTS) await setImmediate();
      const batch = new SettlementBatch(known, this.options.schedule, () => this.random.fraction());
      const ends = answers.map((answer): Ended<Decided> | undefined => {
        const key = claimKey(answer.claim);
        const one = held.get(key);
        if (!one) return undefined;
        // A second answer for the same claim must see what the first one has written, so it is settled alone.
        held.delete(key);
        return batch.settle(answer, one);
      });
      const written = await this.write(tx, batch.settlements, reserve);
      const value = ends.map((end): Ended<Settled> | undefined => {
        if (!end || 'error' in end) return end;
        const { state, hintsLeft } = end.value;
        const events = newOf(end.value, written.added);
        const isWaiting = events.some(({ id }) => written.added.get(id)?.isWaiting);
        return { value: { stale: false, state, hintsLeft, events, isWaiting } };
      });
      return { value, ...written };
    }, true);
  }

  private async settleAlone(answer: CheckAnswer): Promise<Settled> {
    const [end] = await this.settleTogether([answer], true);
    if (end && 'error' in end) throw end.error;
    return end?.value ?? STALE;
  }

  /**
   * After the commit, begins the deliveries that it has created as claimed, and frees those that were queued behind others that
   * have ended meanwhile.
   * @param readsFirst see `Database.transaction`
   */
  private async transaction<T>(
    work: (tx: OwnTransaction, reserve: Reserve) => Promise<Written & { readonly value: T }>,
    readsFirst: boolean,
  ): Promise<T> {
    let reserved: readonly ReservedDelivery[] = [];
    const release = (): void => {
      reserved.forEach((place) => this.deliverer.release(place));
      reserved = [];
    };
    const reserve: Reserve = (events) => {
      // If the transaction is repeated, what the attempt before it has reserved.
      release();
      const reservation = this.deliverer.reserve(events);
      reserved = reservation.deliveries;
      return reservation;
    };
    let written: Written & { readonly value: T };
    try {
      written = await this.store.transaction((tx) => work(tx, reserve), readsFirst);
    } catch (error) {
      release();
      throw error;
    }
    const { value, waiting, claimed } = written;
    const isBegun = ({ eventId, consumer }: ReservedDelivery): boolean =>
      claimed.some((delivery) => delivery.eventId === eventId && delivery.consumer === consumer);
    reserved = reserved.filter((place) => !isBegun(place));
    release();
    await Promise.all(claimed.map((delivery) => this.deliverer.adopt(delivery)));
    if (waiting.length > 0) {
      await this.deliveries.free(waiting, []).catch((error: unknown) => {
        const what = 'Could not free new deliveries that are queued behind others; retrying within a minute.';
        this.logger.write('deliveries-not-freed', `${what} ${describeError(error)}`, { error: errorType(error) });
      });
    }
    return value;
  }

  private async write(tx: OwnTransaction, settlements: readonly Settlement[], reserve: Reserve): Promise<Written> {
    if (settlements.length === 0) return NOTHING_WRITTEN;
    const again = settlements.flatMap(({ hints }) => hints.again);
    await this.checks.answerHints({ consumed: [], again }, tx);
    const reservation = reserve(
      settlements.flatMap(({ bill: { shop }, events }) => events.map(({ id, name }) => ({ id, name, shop }))),
    );
    const written = await this.writer.write(tx, settlements, this.options.schedule.minGapMs, reservation);
    const redacted = settlements.flatMap(({ bill }) => (bill.redacted ? bill.intentId : []));
    if (redacted.length > 0) await this.store.redactCallbacks(tx, redacted);
    const added = new Map(
      written.map(({ claimed, ...event }) => [event.id, { ...event, isWaiting: event.deliveries > claimed.length }]),
    );
    const sources = new Map(
      settlements.flatMap((settlement) => settlement.events.map((event) => [event.id, { settlement, event }] as const)),
    );
    const claimed = written.flatMap(({ id, claimed: rows }) => {
      const source = sources.get(id);
      return source ? rows.map((row) => bornClaimed(source, { ...row, token: reservation.token })) : [];
    });
    const waiting = settlements.flatMap(({ bill, events }) =>
      events.flatMap(({ id, name }) => {
        const event = added.get(id);
        if (event?.deliveries === 0) this.warnOfNoConsumer(bill, id, name);
        return event?.behind.map((consumer) => ({ intentId: bill.intentId, consumer })) ?? [];
      }),
    );
    return { added, waiting, claimed };
  }

  private warnOfNoConsumer({ shop, orderId, billId }: LockedBill, eventId: string, event: string): void {
    const line = (): string =>
      `No consumer handles ${event} of shop "${shop}": event ${eventId} is stored but not delivered. ` +
      `Add a handler with @OnPaymentEvent('${event}', { consumer: … }).`;
    this.unconsumed.write('event-without-consumer', event, line, { shop, orderId, billId, event, eventId });
  }
}

/** Keeps places for the deliveries of events; in a transaction that is repeated, instead of those before. */
type Reserve = DeliveryWorker['reserve'];

interface Written {
  /** The new events, by id, and whether deliveries of them wait to be claimed. */
  readonly added: ReadonlyMap<string, Omit<AddedEvent, 'claimed'> & { readonly isWaiting: boolean }>;
  /** The queues in which a new delivery waits behind another one. */
  readonly waiting: readonly DeliveryQueue[];
  /** The deliveries that were created as claimed. */
  readonly claimed: readonly (ClaimedDelivery & { readonly eventId: string })[];
}

const NOTHING_WRITTEN: Written = { added: new Map(), waiting: [], claimed: [] };

function bornClaimed(
  { settlement, event }: { readonly settlement: Settlement; readonly event: NewEvent },
  { id, consumer, token }: { readonly id: string; readonly consumer: string; readonly token: string },
): ClaimedDelivery & { readonly eventId: string } {
  const { bill, change, assertedAt, traceparent } = settlement;
  const { id: eventId, name, payload } = event;
  return {
    ...{ id, eventId, consumer, token, assertedAt, traceparent },
    deliveryId: deliveryId(eventId, consumer),
    intentId: bill.intentId,
    eventName: name,
    shop: bill.shop,
    attempt: 1,
    orderWasMissing: false,
    payload: JSON.stringify(payload),
    late: false,
    alone: true,
    billState: change?.state ?? bill.state,
  };
}

/** Another check may have stored an event before. */
function newOf({ events }: Decision, added: Written['added']): readonly NewEvent[] {
  return events.filter(({ id }) => added.has(id));
}

function claimKey({ intentId, token }: Pick<ClaimedBill, 'intentId' | 'token'>): string {
  return `${intentId} ${token}`;
}
