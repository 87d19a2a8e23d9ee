import { Inject, Injectable } from '@nestjs/common';
import { BillService } from '../bills/bill.service.js';
import { TooManyPaymentsError } from '../client/service.errors.js';
import { backoff } from '../common/retry.js';
import { GroupCommitTimeoutError } from '../common/group-commit.js';
import { PaymentClock } from '../common/clock.js';
import { describeError, errorType } from '../common/errors.js';
import { LeasedWorker, type Claimed, type LeasedWork, type WorkerState } from '../common/leased-worker.js';
import { Throttle } from '../common/throttle.js';
import { PaymentLogger, type LogFields } from '../common/payment-logger.js';
import { PaymentRandom } from '../common/random.js';
import { RESOLVED_OPTIONS, type ResolvedOptions } from '../config/resolved-options.js';
import { ShopRegistry } from '../config/shop-registry.js';
import type { ClaimedBill } from '../domain/claim.js';
import type { PaymentList } from '../domain/payment.js';
import { afterFailure } from '../domain/schedule.js';
import { CallbackStore } from '../storage/callback.store.js';
import { CheckStore } from '../storage/check.store.js';
import { WakeUps } from '../common/wake-ups.js';
import { PaymentMetrics } from '../telemetry/payment-metrics.js';
import { Telemetry, type ActiveSpan } from '../telemetry/telemetry.js';
import { isRefusalOfBill, isRefusalOfShop, isWithoutAnswer, provesShopIsAccepted } from './check-errors.js';
import { CheckRequests, retryAfter } from './check-requests.js';
import { FollowedShops } from './followed-shops.js';
import { recordLags } from './lags.js';
import { RefusedBills } from './refused-bills.js';
import { SettlementService, type Settled } from './settlement.service.js';

const DAY_MS = 24 * 3_600_000;

/** How long a callback waits for a bill that cannot be checked. */
const WAITING = {
  /** For one that we do not know: its commit may have been lost, and what the postback says serves to find it again. */
  unmatchedMs: 30 * DAY_MS,
  /** For one of ours that the service has not named. */
  unnamedMs: DAY_MS,
};

/** How often what was given up is looked for: creations that never ended, callbacks that waited for too long. */
const HOUSEKEEPING_MS = 30_000;

/** When to look again where more is due than could be claimed: the shop's rate, or another instance, was in the way. */
const AGAIN_MS = 100;

/** How often a shop that the service refuses is tried. */
const PROBE_MS = 60_000;

/**
 * Finds out the truth: asks the service for the payments of each due bill and settles the answer. Holds a lease, never
 * a lock, while it waits for the network.
 */
@Injectable()
export class Confirmer implements LeasedWork<ClaimedBill> {
  private readonly logger = new PaymentLogger('PaymentConfirmer');
  private readonly worker: LeasedWorker<ClaimedBill>;
  private readonly housekeeping: Throttle;
  private readonly refusedBills = new RefusedBills();

  constructor(
    private readonly checks: CheckStore,
    private readonly settlement: SettlementService,
    private readonly bills: BillService,
    private readonly callbacks: CallbackStore,
    private readonly requests: CheckRequests,
    private readonly shops: ShopRegistry,
    private readonly followed: FollowedShops,
    private readonly random: PaymentRandom,
    private readonly clock: PaymentClock,
    private readonly telemetry: Telemetry,
    private readonly metrics: PaymentMetrics,
    private readonly wakeUps: WakeUps,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
  ) {
    this.worker = new LeasedWorker(
      this,
      { ...options.confirmer, shutdownMs: options.deliveries.shutdownMs },
      this.logger,
    );
    this.housekeeping = new Throttle(clock, HOUSEKEEPING_MS);
  }

  /** @internal Makes the shops known to all instances, at start. */
  prepare(): Promise<void> {
    return this.followed.prepare();
  }

  /** Checks the bills that are due now; resolves with their number when all are settled or put off. */
  runOnce(): Promise<number> {
    return this.worker.runOnce();
  }

  start(): void {
    this.worker.start();
  }

  /** Whether it runs by itself, and has looked for work within the last `silenceMs`. */
  state(silenceMs: number): WorkerState {
    return this.worker.state(silenceMs);
  }

  wake(): void {
    this.worker.wake();
  }

  /** Ends requests in flight and gives their bills back. */
  stop(): Promise<void> {
    return this.worker.stop();
  }

  /** @internal Ends what was given up. */
  async maintain(): Promise<void> {
    if (!this.housekeeping.tryTake()) return;
    await this.bills.closeAbandoned();
    await this.callbacks.retireWaiting(WAITING);
  }

  /** @internal */
  async claim(limit: number): Promise<Claimed<ClaimedBill>> {
    const { shops: due, nextMs } = await this.followed.findDue(PROBE_MS);
    const left = (shop: string): number => this.requests.free(shop, this.followed.count);
    // A place of one that has none left is looked at again when it becomes free.
    const shops = due.filter((shop) => left(shop) > 0);
    const claimed: ClaimedBill[] = [];
    try {
      for await (const shop of this.followed.settingsOf(shops)) {
        const { name } = shop;
        const limits = {
          limit: Math.min(limit - claimed.length, left(name)),
          leaseMs: this.options.confirmer.leaseMs,
          requestsPerSecond: this.requests.perSecond(shop),
          probeMs: PROBE_MS,
        };
        const bills = await this.checks.claim(name, this.random.uuid(), limits);
        for (const bill of bills) this.requests.take(bill.shop);
        claimed.push(...bills);
        if (claimed.length >= limit) break;
      }
    } catch (error) {
      // What is leased already goes on: it would wait for the end of its lease.
      if (claimed.length === 0) throw error;
      this.logger.error(`Could not look for bills of every shop. ${describeError(error)}`, { error: errorType(error) });
      return { items: claimed, nextMs: null };
    }
    const isPaused = due.some((shop) => this.requests.isPaused(shop));
    return { items: claimed, nextMs: shops.length > 0 || isPaused ? AGAIN_MS : nextMs };
  }

  /** @internal */
  async process(claim: ClaimedBill, stopping: AbortSignal): Promise<void> {
    const attributes = {
      'payment.shop': claim.shop,
      'payment.order_id': claim.orderId,
      'payment.bill_id': claim.billId,
      'payment.check.hints': claim.hints.length,
    };
    try {
      await this.telemetry.span('payment.check', { attributes, parent: claim.traceparent }, async (span) => {
        const outcome = await this.check(claim, stopping, span);
        span.set({ 'payment.outcome': outcome });
        this.metrics.check(claim.shop, outcome);
      });
    } finally {
      this.requests.leave(claim.shop);
    }
  }

  /** @internal */
  fieldsOf({ shop, orderId, billId, intentId, token: check }: ClaimedBill): LogFields {
    return { shop, orderId, billId, intentId, check };
  }

  /** How it ended: `settled`, `unchanged`, `stale`, `released`, or the code of the error. */
  private async check(claim: ClaimedBill, stopping: AbortSignal, span: ActiveSpan): Promise<string> {
    let listed: PaymentList;
    let settled: Settled;
    try {
      const shop = await this.shops.get(claim.shop);
      listed = await this.requests.read(shop, claim, stopping);
      await this.acceptShop(claim);
      await this.hasten(claim.shop);
      settled = await this.settlement.settle(claim, listed);
    } catch (error) {
      // It may still commit, and holds the bill's lock: whatever was written of the bill here would wait, too.
      if (error instanceof GroupCommitTimeoutError) return this.logTimeout(claim, error);
      if (stopping.aborted) {
        await this.checks.release(claim);
        return 'released';
      }
      span.fail(error);
      if (provesShopIsAccepted(error)) await this.acceptShop(claim);
      if (error instanceof TooManyPaymentsError) await this.settlement.reviewUnlistable(claim);
      else await this.postpone(claim, error);
      return errorType(error);
    }
    if (listed.flaws.length > 0) this.warnOfFlaws(claim, listed.flaws);
    if (settled.stale) {
      this.logger.debug(`A later check of bill ${claim.billId} made this answer stale.`, this.fieldsOf(claim));
      return 'stale';
    }
    if (settled.events.length === 0) return 'unchanged';
    this.wakeUps.tell('event');
    recordLags(this.metrics, claim, listed.payments, settled.events, this.clock.now());
    return 'settled';
  }

  private warnOfFlaws(claim: ClaimedBill, flaws: readonly string[]): void {
    this.logger.warn(
      `The service lists ${flaws.length} payments of bill ${claim.billId} of shop "${claim.shop}" that cannot be read: ` +
        `${flaws.slice(0, 5).join(', ')}. The others are settled, and a review is open.`,
      this.fieldsOf(claim),
    );
  }

  private logTimeout(claim: ClaimedBill, error: GroupCommitTimeoutError): string {
    const type = errorType(error);
    const what = `The settlement of bill ${claim.billId} of shop "${claim.shop}" does not end`;
    this.logger.error(`${what}: the bill is checked again when its lease is over. ${error.message}`, {
      ...this.fieldsOf(claim),
      error: type,
    });
    return type;
  }

  private async postpone(claim: ClaimedBill, error: unknown): Promise<void> {
    const reason = describeError(error);
    const whose = isRefusalOfShop(error) ? this.refusedBills.refused(claim.shop, claim.intentId) : undefined;
    const refused = whose === 'shop' || (whose !== undefined && claim.shopRefused);
    if (refused) await this.refuseShop(claim.shop, reason);
    const { retryBaseMs, retryCapMs } = this.options.schedule;
    const pause = backoff(claim.failedChecks, retryBaseMs, retryCapMs, this.random.fraction());
    // The next probe is to be another bill, if there is one.
    const pauseMs = refused ? 2 * PROBE_MS : Math.max(retryAfter(error), pause);
    const billRefused = isRefusalOfBill(error) || (whose === 'bill' && !refused);
    const { nextCheckAt, review, giveUp } = afterFailure(claim, pauseMs, billRefused, this.options.schedule);
    const what = `Bill ${claim.billId} of shop "${claim.shop}" could not be checked`;
    this.logger.warn(
      `${what} and is ${giveUp ? 'followed no longer' : `looked at again in ${pauseMs} ms or more`}. ${reason}`,
      { ...this.fieldsOf(claim), ...(!giveUp && { againInMs: pauseMs }), error: errorType(error) },
    );
    if (isWithoutAnswer(error)) this.requests.notePutOff(claim);
    if (review) await this.settlement.reviewUncheckable(claim);
    // A refused shop is the shop's trouble: its bills stay where they are, and go on when it is accepted again.
    const place = refused ? undefined : nextCheckAt;
    if ((await this.checks.fail(claim, pauseMs, place, reason)) && giveUp) {
      const consumed = claim.hints.map(({ id, asserts }) => ({
        id,
        outcome: asserts && ('unconfirmed' as const),
      }));
      await this.checks.answerHints({ consumed, again: [] });
    }
  }

  /** The service of a shop was away and is back: what was asked meanwhile need not wait as long as it has failed. */
  private async hasten(shop: string): Promise<void> {
    const bills = this.requests.takePutOff(shop);
    if (bills.length === 0) return;
    try {
      await this.checks.hasten(bills);
      this.worker.wake();
    } catch (error) {
      this.logger.error(`Bills of shop "${shop}" wait for longer than they need to. ${describeError(error)}`, { shop });
    }
  }

  private async refuseShop(shop: string, reason: string): Promise<void> {
    if (!(await this.checks.refuseShop(shop, reason, PROBE_MS))) return;
    this.logger.error(`The service refuses shop "${shop}": its bills wait, and it is tried each minute. ${reason}`, {
      shop,
    });
  }

  /** The service has answered a bill of the shop, for which it must know the shop. */
  private async acceptShop({ shop, intentId, shopRefused }: ClaimedBill): Promise<void> {
    this.refusedBills.answered(shop, intentId);
    if (!shopRefused) return;
    await this.checks.acceptShop(shop);
    this.logger.log(`The service answers shop "${shop}" again.`, { shop });
  }
}
