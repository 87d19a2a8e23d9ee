import { Inject, Injectable } from '@nestjs/common';
import { BillService } from '../bills/bill.service.js';
import { PaymentTooManyPaymentsError } from '../client/service.errors.js';
import { backoff } from '../common/retry.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { LeasedWorker, type Claimed, type LeasedWork, type WorkerState } from '../common/leased-worker.js';
import { Throttle } from '../common/throttle.js';
import type { HintedBill } from '../common/wake-ups.js';
import { PaymentLogger, type LogFields } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import type { ClaimedBill } from '../domain/claim.js';
import { afterFailure } from '../domain/schedule.js';
import { CallbackStore } from '../callbacks/storage/callback.store.js';
import { CheckStore } from './storage/check.store.js';
import { Telemetry, type ActiveSpan } from '../telemetry/telemetry.js';
import { BillChecks } from './bill-checks.js';
import { isWithoutAnswer } from './check-errors.js';
import { fieldsOf, logTimeout } from './check-log.js';
import { CheckRequests, retryAfter } from '../client/check-requests.js';
import { FollowedShops } from './followed-shops.js';
import { PROBE_MS } from './refused-shops.js';
import { SettlementService } from './settlement.service.js';

const DAY_MS = 24 * 3_600_000;

/** How long a callback waits for a bill that cannot be checked. */
const WAITING = {
  /** For an unknown bill: its commit may have been lost, and the postback helps to find it again. */
  unmatchedMs: 30 * DAY_MS,
  /** For a bill of ours without an id at the service. */
  unnamedMs: DAY_MS,
};

/** How often abandoned creations and expired callbacks are closed. */
const HOUSEKEEPING_MS = 30_000;

/** Pause before the next poll if more is due than could be claimed, because of the rate limit or another instance. */
const AGAIN_MS = 100;

/** How long the bills of a shop whose rate was used up are claimed by turns, hinted and scheduled ones, and never by name. */
const SPENT_MS = 1_000;

/**
 * Finds out the truth: asks the service for the payments of each due bill and settles the answer. Holds a lease, never
 * a lock, while it waits for the network.
 */
@Injectable()
export class Confirmer implements LeasedWork<ClaimedBill> {
  private readonly logger = new PaymentLogger('PaymentChecks');
  private readonly worker: LeasedWorker<ClaimedBill>;
  private readonly housekeeping: Throttle;
  private readonly checking = new Set<Checking>();
  /** When to look for what is due, at the latest: `elapsed()` of the clock. */
  private lookAt = 0;
  /** Whether something waits that only a look finds: what a check has left, or what there was no place for. */
  private mustLook = false;
  /** Until when each shop's rate counts as used up. */
  private readonly spentUntil = new Map<string, number>();
  /** What has been told since the last claim began. */
  private told: (HintedBill | undefined)[] = [];

  constructor(
    private readonly checks: CheckStore,
    private readonly billChecks: BillChecks,
    private readonly settlement: SettlementService,
    private readonly bills: BillService,
    private readonly callbacks: CallbackStore,
    private readonly requests: CheckRequests,
    private readonly followed: FollowedShops,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    private readonly telemetry: Telemetry,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    const { pollMs, shutdownTimeoutMs } = options;
    const { concurrency } = options.checks;
    this.worker = new LeasedWorker(this, { concurrency, pollMs, shutdownTimeoutMs }, this.logger);
    this.housekeeping = new Throttle(clock, HOUSEKEEPING_MS);
  }

  /** @internal Registers the shops for all instances, at start. */
  prepare(): Promise<void> {
    return this.followed.prepare();
  }

  /** Checks the bills that are due now; resolves with their number once all are settled or postponed. */
  runOnce(): Promise<number> {
    return this.worker.runOnce();
  }

  start(): void {
    this.worker.start();
  }

  /** State of its loop; `stalled` if no poll has ended within the last `silenceMs`. */
  state(silenceMs: number): WorkerState {
    return this.worker.state(silenceMs);
  }

  /**
   * A bill that is being checked is looked at again when its check ends, not before.
   * @param bill the one that is hinted; default unknown, as in what other instances tell
   */
  wake(bill?: HintedBill): void {
    let isChecked = false;
    for (const checking of this.checking) {
      if (!concerns(bill, checking.claim)) continue;
      checking.isHinted ||= isNew(bill, checking.claim);
      isChecked = bill !== undefined;
    }
    if (isChecked) return;
    this.told.push(bill);
    this.worker.wake();
  }

  /** Aborts requests in flight and releases their bills. */
  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** @internal Closes abandoned creations and expired callbacks. */
  async maintain(): Promise<void> {
    if (!this.housekeeping.tryTake()) return;
    await this.bills.closeAbandoned();
    await this.callbacks.retireWaiting(WAITING);
  }

  /** @internal */
  async claim(limit: number): Promise<Claimed<ClaimedBill>> {
    const { told } = this;
    this.told = [];
    const named = this.namedBy(told, limit);
    if (named) return this.claimNamed(limit, named);
    // Set again by checks that end meanwhile.
    this.mustLook = false;
    try {
      return await this.claimDue(limit);
    } catch (error) {
      this.mustLook = true;
      throw error;
    }
  }

  /**
   * The hinted bills by their shops, if they can be claimed without looking for what else is due. They must leave a place: where
   * places or requests are scarce, hinted and scheduled bills take turns, which only a look can do.
   */
  private namedBy(
    told: readonly (HintedBill | undefined)[],
    limit: number,
  ): ReadonlyMap<string, readonly HintedBill[]> | undefined {
    const now = this.clock.elapsed();
    if (told.length === 0 || told.length >= limit || this.mustLook || now >= this.lookAt) return undefined;
    const named = new Map<string, HintedBill[]>();
    for (const bill of told) {
      if (!bill || !this.followed.follows(bill.shop) || now < (this.spentUntil.get(bill.shop) ?? 0)) return undefined;
      const ofShop = named.get(bill.shop) ?? [];
      named.set(bill.shop, [...ofShop, bill]);
      if (ofShop.length + 1 >= this.left(bill.shop)) return undefined;
    }
    return named;
  }

  private async claimNamed(
    limit: number,
    named: ReadonlyMap<string, readonly HintedBill[]>,
  ): Promise<Claimed<ClaimedBill>> {
    const now = this.clock.elapsed();
    const { items, isFull } = await this.claimFromShops([...named.keys()], limit, named);
    const isClaimed = (bill: HintedBill): boolean => items.some((claim) => concerns(bill, claim));
    // The others cannot be claimed yet, or not by this instance: a look finds out when they can.
    if (![...named.values()].flat().every(isClaimed)) this.lookAt = Math.min(this.lookAt, now + AGAIN_MS);
    this.mustLook ||= isFull;
    return { items, nextMs: Math.max(0, this.lookAt - this.clock.elapsed()), isFull };
  }

  private async claimDue(limit: number): Promise<Claimed<ClaimedBill>> {
    const { shops: due, nextMs } = await this.followed.findDue(PROBE_MS);
    // A shop without free slots is polled again when one of its requests ends.
    const shops = due.filter((shop) => this.left(shop) > 0);
    const { items, isFull } = await this.claimFromShops(shops, limit);
    const isPaused = due.some((shop) => this.requests.isPaused(shop));
    const againMs = shops.length > 0 || isPaused ? AGAIN_MS : nextMs;
    this.lookAt = this.clock.elapsed() + Math.min(againMs ?? Infinity, this.options.pollMs);
    const lacksPlaces = isFull || shops.length < due.length;
    this.mustLook ||= lacksPlaces;
    return { items, nextMs: againMs, isFull: lacksPlaces };
  }

  /** How many more bills of a shop may be claimed. */
  private left(shop: string): number {
    return this.requests.free(shop, this.followed.count);
  }

  /** @param named only these bills of the shops */
  private async claimFromShops(
    shops: readonly string[],
    limit: number,
    named?: ReadonlyMap<string, readonly HintedBill[]>,
  ): Promise<{ readonly items: readonly ClaimedBill[]; readonly isFull: boolean }> {
    const claimed: ClaimedBill[] = [];
    let isFull = false;
    try {
      for await (const shop of this.followed.settingsOf(shops)) {
        const { name } = shop;
        const limits = {
          limit: Math.min(limit - claimed.length, this.left(name)),
          leaseMs: this.options.leases.checkMs,
          requestsPerSecond: this.requests.perSecond(shop),
          probeMs: PROBE_MS,
        };
        const { bills, isSpent } = await this.checks.claim(name, this.random.uuid(), limits, named?.get(name));
        for (const bill of bills) this.requests.take(bill.shop);
        claimed.push(...bills);
        isFull ||= bills.length === limits.limit;
        if (isSpent) this.spentUntil.set(name, this.clock.elapsed() + SPENT_MS);
        if (claimed.length >= limit) break;
      }
    } catch (error) {
      // Check what is already leased: otherwise it would wait until its lease expires.
      if (claimed.length === 0) throw error;
      const line = `Could not claim the bills of all shops. ${describeError(error)}`;
      this.logger.write('claim-incomplete', line, { error: errorType(error) });
      isFull = true;
    }
    return { items: claimed, isFull };
  }

  /** @internal */
  async process(claim: ClaimedBill, stopping: AbortSignal): Promise<boolean> {
    const isHinted = this.told.some((bill) => concerns(bill, claim) && isNew(bill, claim));
    const checking: Checking = { claim, isHinted };
    this.checking.add(checking);
    const attributes = {
      'payment.shop': claim.shop,
      'payment.order_id': claim.orderId,
      'payment.bill_id': claim.billId,
      'payment.check.hints': claim.hints.length,
    };
    let isOver = false;
    try {
      await this.telemetry.span('payment.check', { attributes, parent: claim.traceparent }, async (span) => {
        const end = await this.check(claim, stopping, span);
        span.set({ 'payment.outcome': end.outcome });
        ({ isOver } = end);
      });
    } finally {
      this.checking.delete(checking);
      this.requests.leave(claim.shop);
      this.mustLook ||= checking.isHinted || !isOver;
    }
    return checking.isHinted || !isOver;
  }

  /** @internal */
  fieldsOf(claim: ClaimedBill): LogFields {
    return fieldsOf(claim);
  }

  /**
   * How it ended: `settled`, `unchanged`, `stale`, `released`, or the code of the error; and whether nothing of it is left to do.
   */
  private async check(
    claim: ClaimedBill,
    stopping: AbortSignal,
    span: ActiveSpan,
  ): Promise<{ readonly outcome: string; readonly isOver: boolean }> {
    try {
      const { outcome, settled } = await this.billChecks.run(claim, stopping);
      return { outcome, isOver: !settled.stale && settled.hintsLeft === 0 };
    } catch (error) {
      return { outcome: await this.endUnanswered(claim, stopping, span, error), isOver: false };
    }
  }

  private async endUnanswered(
    claim: ClaimedBill,
    stopping: AbortSignal,
    span: ActiveSpan,
    error: unknown,
  ): Promise<string> {
    if (error instanceof GroupCommitTimeoutError) return logTimeout(this.logger, claim, error);
    if (stopping.aborted) {
      await this.checks.releaseLease(claim);
      return 'released';
    }
    span.fail(error);
    if (!(error instanceof PaymentTooManyPaymentsError)) await this.postpone(claim, error);
    return errorType(error);
  }

  private async postpone(claim: ClaimedBill, error: unknown): Promise<void> {
    const reason = describeError(error);
    const refused = await this.billChecks.refusedShops.refusedBy(error, claim, reason);
    const { retryBaseMs, retryCapMs } = this.options.schedule;
    const pause = backoff(claim.failedChecks, retryBaseMs, retryCapMs, this.random.fraction());
    // Longer than the probe interval, so that the next probe checks another bill, if there is one.
    const pauseMs = refused === 'shop' ? 2 * PROBE_MS : Math.max(retryAfter(error), pause);
    const { nextCheckAt, review, giveUp } = afterFailure(claim, pauseMs, refused === 'bill', this.options.schedule);
    const what = `Bill ${claim.billId} of shop "${claim.shop}" could not be checked`;
    this.logger.write(
      giveUp ? 'check-given-up' : 'check-failed',
      `${what} and ${giveUp ? 'is no longer checked' : `will be retried in ${pauseMs} ms or later`}. ${reason}`,
      { ...fieldsOf(claim), ...(!giveUp && { againInMs: pauseMs }), error: errorType(error) },
    );
    if (isWithoutAnswer(error)) this.requests.notePostponed(claim);
    if (review) await this.settlement.reviewUncheckable(claim);
    // The bills of a refused shop keep their place in the schedule until it is accepted again.
    const place = refused === 'shop' ? undefined : nextCheckAt;
    if ((await this.checks.fail(claim, pauseMs, place, reason)) && giveUp) {
      const consumed = claim.hints.map(({ id, asserts }) => ({
        id,
        outcome: asserts && ('unconfirmed' as const),
      }));
      await this.checks.answerHints({ consumed, again: [] });
    }
  }
}

/** A check in flight. */
interface Checking {
  readonly claim: ClaimedBill;
  /** Whether a callback that it does not answer may have been stored meanwhile. */
  isHinted: boolean;
}

function concerns(hinted: HintedBill | undefined, { shop, billId, intentId }: ClaimedBill): boolean {
  if (!hinted) return true;
  return hinted.shop === shop && (hinted.billId === billId || hinted.intentId === intentId);
}

function isNew(hinted: HintedBill | undefined, { hints }: ClaimedBill): boolean {
  return !hints.some(({ id }) => id === hinted?.id);
}
